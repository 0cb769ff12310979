/** Runs a program to its end, bounded, line by line. No shell: every argument as it stands. */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

export interface Ended {
  /** 124 when it ran past its time. */
  readonly code: number;
  /** Standard output and error, line by line. */
  readonly output: string;
}

export interface RunOptions {
  readonly seconds: number;
  readonly environment?: Readonly<Record<string, string>>;
  readonly onLine?: (line: string) => void;
}

export function runProgram(program: string, args: readonly string[], options: RunOptions): Promise<Ended> {
  const { promise, resolve, reject } = Promise.withResolvers<Ended>();
  const child = spawn(program, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(options.environment && { env: options.environment }),
  });
  const lines: string[] = [];
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    child.kill('SIGKILL');
  }, options.seconds * 1_000);
  for (const input of [child.stdout, child.stderr]) {
    createInterface({ input }).on('line', (line) => {
      lines.push(line);
      options.onLine?.(line);
    });
  }
  child.on('error', (cause) => {
    clearTimeout(timer);
    reject(new Error(`${program} cannot be started`, { cause }));
  });
  child.on('close', (code) => {
    clearTimeout(timer);
    resolve({ code: isLate ? 124 : (code ?? 1), output: lines.join('\n') });
  });
  return promise;
}
