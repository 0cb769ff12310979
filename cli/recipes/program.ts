/** Runs a program to its end, bounded, with everything that it says. */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

export interface EndedProgram {
  /** 124 when it ran past its time. */
  readonly code: number;
  readonly output: string;
}

interface Limits {
  readonly seconds: number;
  readonly onLine?: (line: string) => void;
  /** In place of the variables of this process. */
  readonly environment?: Readonly<NodeJS.ProcessEnv>;
}

/** A measuring program clears its hosts away on SIGINT; one that stays has this long. */
const LEAVING_MS = 10_000;

/** No shell: every argument as it stands. */
export function runProgram(program: string, args: readonly string[], limits: Limits): Promise<EndedProgram> {
  return new Promise((resolve, reject) => {
    const env = limits.environment ?? process.env;
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], env });
    const lines: string[] = [];
    let isLate = false;
    let timer = setTimeout(() => {
      isLate = true;
      child.kill('SIGINT');
      timer = setTimeout(() => child.kill('SIGKILL'), LEAVING_MS);
    }, limits.seconds * 1000);
    for (const input of [child.stdout, child.stderr])
      createInterface({ input }).on('line', (line) => {
        lines.push(line);
        limits.onLine?.(line);
      });
    child.on('error', (cause) => {
      clearTimeout(timer);
      reject(new Error(`${program} cannot be started`, { cause }));
    });
    child.on('close', (code) => {
      clearTimeout(timer);
      resolve({ code: isLate ? 124 : (code ?? 1), output: lines.join('\n') });
    });
  });
}

/** The last line that is JSON of an object or list; programs say other things before it. */
export const lastJsonLine = (output: string): string | undefined =>
  output.split('\n').findLast((line) => /^[[{].*[\]}]$/.test(line.trim()));
