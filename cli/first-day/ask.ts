/** The question before a step that costs something. */
import { createInterface } from 'node:readline/promises';

interface Terminal {
  readonly stdin: NodeJS.ReadableStream;
  readonly stdout: NodeJS.WritableStream;
}

export interface Stopping {
  readonly signal: AbortSignal;
  /** Does what the signal of Ctrl-C does. */
  readonly stop: () => void;
}

/** @returns 'stop' after Ctrl-C, which stops all, and at the end of the input (Ctrl-D), which is no answer */
export async function askAt(
  { stdin, stdout }: Terminal,
  { signal, stop }: Stopping,
): Promise<'yes' | 'no' | 'stop'> {
  const terminal = createInterface({ input: stdin, output: stdout });
  const closed = new AbortController();
  terminal.once('close', () => closed.abort());
  // A terminal in raw mode gives Ctrl-C to the reader, not to the process.
  terminal.once('SIGINT', stop);
  try {
    const ended = AbortSignal.any([signal, closed.signal]);
    const answer = await terminal.question('   run it? [y/N] ', { signal: ended });
    return /^y(es)?$/i.test(answer.trim()) ? 'yes' : 'no';
  } catch (error: unknown) {
    if (!closed.signal.aborted && !signal.aborted) throw error;
    stdout.write('\n');
    return 'stop';
  } finally {
    terminal.close();
  }
}
