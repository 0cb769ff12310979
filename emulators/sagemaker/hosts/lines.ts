/** Splits a stream of bytes into lines of bounded length; what is longer is cut and goes on as the next line. */
import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';

/** CloudWatch Logs takes 256 KiB an event, with 26 bytes of its own; UTF-8 needs up to 3 bytes for a UTF-16 unit. */
const MAXIMUM_LINE_UNITS = 80_000;

export function readLines(stream: Readable, onLine: (line: string) => void): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const decoder = new StringDecoder('utf8');
  let pending = '';
  const take = (text: string): void => {
    const lines = `${pending}${text}`.split('\n');
    pending = lines.pop() ?? '';
    for (const line of lines) for (const part of cut(line)) onLine(part);
    while (pending.length > MAXIMUM_LINE_UNITS) {
      onLine(pending.slice(0, MAXIMUM_LINE_UNITS));
      pending = pending.slice(MAXIMUM_LINE_UNITS);
    }
  };
  stream.on('data', (chunk: Buffer) => take(decoder.write(chunk)));
  stream.on('error', () => resolve());
  stream.on('close', () => {
    take(decoder.end());
    if (pending !== '') onLine(pending);
    resolve();
  });
  return promise;
}

function cut(line: string): string[] {
  // A progress bar returns to the beginning of its line again and again; only the last state of it is a line.
  const text = line.endsWith('\r') ? line.slice(0, -1) : line;
  if (text.length <= MAXIMUM_LINE_UNITS) return [text];
  const parts: string[] = [];
  for (let start = 0; start < text.length; start += MAXIMUM_LINE_UNITS) {
    parts.push(text.slice(start, start + MAXIMUM_LINE_UNITS));
  }
  return parts;
}
