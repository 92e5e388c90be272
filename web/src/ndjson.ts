// Reads lines of JSON from a stream as they arrive.

// The longest line that is accepted: 10,000 machines' values are 1 MiB.
const MAX_LINE = 64 * 1024 * 1024;

// Splits chunks of text at line feeds. A line that arrives in many chunks is
// joined once.
export class LineSplitter {
  private pieces: string[] = [];
  private size = 0;

  // Calls `use` with each complete line that is not empty.
  push(chunk: string, use: (line: string) => void): void {
    let from = 0;
    for (;;) {
      const end = chunk.indexOf('\n', from);
      if (end < 0) break;
      this.keep(chunk.slice(from, end));
      this.finish(use);
      from = end + 1;
    }
    this.keep(chunk.slice(from));
  }

  // The last line needs no line feed.
  finish(use: (line: string) => void): void {
    const line = this.pieces.length === 1 ? this.pieces[0] : this.pieces.join('');
    this.pieces = [];
    this.size = 0;
    if (line.trim() !== '') use(line);
  }

  private keep(text: string): void {
    if (text === '') return;
    this.size += text.length;
    if (this.size > MAX_LINE) throw new Error('The server sent a line of more than 64 MiB.');
    this.pieces.push(text);
  }
}

// Calls `use` with the value of each line, until the stream ends. A line that
// is not JSON, and what `use` throws, end the reading.
export async function readLines<T>(
  body: ReadableStream<Uint8Array>,
  use: (value: T) => void,
): Promise<void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const splitter = new LineSplitter();
  const parse = (line: string): void => use(JSON.parse(line) as T);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      splitter.push(decoder.decode(value, { stream: true }), parse);
    }
    splitter.push(decoder.decode(), parse);
    splitter.finish(parse);
  } finally {
    // Ends the request if reading failed; no effect at the end.
    reader.cancel().catch(() => undefined);
  }
}
