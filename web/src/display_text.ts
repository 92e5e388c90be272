// Names of the fleet's machines as the page shows them (base/text/printable.h).

// Characters that change the direction of writing: a name with one of them
// could look like another, or turn the text next to it.
const BIDIRECTIONAL = /[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/g;

// Returns the text with "\u202E" for each such character. Only for display:
// queries and copies need names as they are.
export function displayText(text: string): string {
  return text.replace(BIDIRECTIONAL,
    (character) => `\\u${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`);
}
