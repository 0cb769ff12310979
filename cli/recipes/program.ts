/** Runs a program to its end, bounded, with everything that it says. */
import { spawn } from 'node:child_process';

export interface EndedProgram {
  /** 124 when it ran past its time. */
  readonly code: number;
  readonly output: string;
}

interface Limits {
  readonly seconds: number;
  readonly onOutput?: (text: string) => void;
  /** Variables beside those of this process. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** No shell: every argument as it stands. */
export function runProgram(program: string, args: readonly string[], limits: Limits): Promise<EndedProgram> {
  return new Promise((resolve, reject) => {
    const env = { ...process.env, ...limits.environment };
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], env });
    let output = '';
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      // The measuring program clears its hosts away on SIGINT.
      child.kill('SIGINT');
    }, limits.seconds * 1000);
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
        limits.onOutput?.(text);
      });
    }
    child.on('error', (cause) => {
      clearTimeout(timer);
      reject(new Error(`${program} cannot be started`, { cause }));
    });
    child.on('close', (code) => {
      clearTimeout(timer);
      resolve({ code: isLate ? 124 : (code ?? 1), output });
    });
  });
}

/** The last line that is JSON of an object or list; programs say other things before it. */
export const lastJsonLine = (output: string): string | undefined =>
  output
    .split('\n')
    .toReversed()
    .find((line) => /^[[{].*[\]}]$/.test(line.trim()));
