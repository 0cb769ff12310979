/** Where a verb prints. Documents go to standard output; what is said beside them goes to standard error. */

import { printable } from '@tidewheel/kit/command-line.ts';
import pc from 'picocolors';

export type Colours = ReturnType<typeof pc.createColors>;

export interface Terminal {
  /** Of a document or table: standard output. */
  readonly print: (text: string) => void;
  /** A remark beside it: standard error, dim. */
  readonly note: (text: string) => void;
  readonly problem: (text: string) => void;
  /** Lines in the place of the last ones, of which there were `drawn`. Only for a live terminal. */
  readonly redraw: (lines: readonly string[], drawn: number) => void;
  /** Whether standard output is a terminal, whose lines may be drawn again. */
  readonly isLive: boolean;
  readonly columns: number;
  readonly colours: Colours;
  /** Asks for a line. @returns undefined without a terminal, where no person could answer */
  readonly ask: (question: string) => Promise<string | undefined>;
}

const USUAL_COLUMNS = 80;

interface Streams {
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
}

/** @param environment NO_COLOR (https://no-color.org) and TERM=dumb are heeded */
export function terminalOf(
  { stdin, stdout, stderr }: Streams,
  environment: Readonly<Record<string, string | undefined>>,
): Terminal {
  const mayColour = !environment['NO_COLOR'] && environment['TERM'] !== 'dumb';
  const colours = pc.createColors(mayColour && stdout.isTTY === true);
  const beside = pc.createColors(mayColour && stderr.isTTY === true);
  const own = { keepsColours: colours.isColorSupported };
  return {
    print: (text) => void stdout.write(`${printable(text, own)}\n`),
    note: (text) => void stderr.write(`${beside.dim(printable(text))}\n`),
    problem: (text) => void stderr.write(`${beside.red('✗')} ${printable(text)}\n`),
    redraw: (lines, drawn) => {
      const up = drawn === 0 ? '' : `\u001b[${drawn}A`;
      // Each line is cleared as it is written, and what was below the last one: no flicker.
      stdout.write(`${up}${lines.map((line) => `\u001b[2K${printable(line, own)}\n`).join('')}\u001b[J`);
    },
    isLive: stdout.isTTY === true && environment['TERM'] !== 'dumb',
    get columns() {
      return stdout.columns ?? USUAL_COLUMNS;
    },
    colours,
    ask: async (question) => {
      if (stdin.isTTY !== true || stderr.isTTY !== true) return undefined;
      const { createInterface } = await import('node:readline/promises');
      const reader = createInterface({ input: stdin, output: stderr });
      try {
        return await reader.question(printable(question));
      } finally {
        reader.close();
      }
    },
  };
}

export interface Stopping {
  readonly signal: AbortSignal;
  /** Does what the signal of Ctrl-C does. */
  readonly stop: () => void;
}

/**
 * The question before a step that costs something.
 * @returns 'stop' after Ctrl-C, which stops all, and at the end of the input (Ctrl-D), which is no answer
 */
export async function askAt(
  { stdin, stdout }: { readonly stdin: NodeJS.ReadableStream; readonly stdout: NodeJS.WritableStream },
  { signal, stop }: Stopping,
): Promise<'yes' | 'no' | 'stop'> {
  const { createInterface } = await import('node:readline/promises');
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
