import assert from 'node:assert/strict';
import test from 'node:test';
import { displayText } from '../src/display_text.ts';

test('characters that change the direction of writing are escaped', () => {
  // tests/base/text/printable_test.cc
  assert.equal(displayText('a\u202Etxt.exe\u202C'), 'a\\u202Etxt.exe\\u202C');
  assert.equal(displayText('\u2066a\u2069 \u200E\u200F\u061C'), '\\u2066a\\u2069 \\u200E\\u200F\\u061C');
});

test('other text is shown as it is', () => {
  for (const text of ['', '\\\\web-1\\System\\Processes', 'Übertragung €', '\u200D\u2010\u202F\u2065\u206A', 'שלום']) {
    assert.equal(displayText(text), text);
  }
});
