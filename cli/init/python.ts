/** Programs of Python's standard library, which read what only Python understands. They run apart, and import nothing. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { messageOf } from '@tidewheel/kit/errors.ts';
import { check } from '@tidewheel/kit/validation.ts';
import * as z from 'zod';
import type { Surroundings } from '../command/context.ts';
import { type ProgramName, pythonText } from './programs.ts';

const LONGEST_MILLISECONDS = 60_000;
const MOST_ANSWER_BYTES = 20 * 2 ** 20;

const problemSchema = z.object({ problem: z.string() });

/** @throws Error where there is no Python, or the program refuses the file */
export async function runPython<Schema extends z.ZodType>(
  name: ProgramName,
  schema: Schema,
  [file, ...others]: readonly [string, ...string[]],
  surroundings: Pick<Surroundings, 'environment' | 'clone'>,
): Promise<z.output<Schema>> {
  const python = pythonOf(surroundings);
  const { stdout } = await promisify(execFile)(
    python,
    ['-I', '-c', await pythonText(name), file, ...others],
    {
      timeout: LONGEST_MILLISECONDS,
      maxBuffer: MOST_ANSWER_BYTES,
    },
  ).catch((error: unknown) => {
    throw new Error(
      `${python} cannot read ${file} (${messageOf(error).trim().split('\n').at(-1)}): install Python 3.9 or newer, or name one in TIDEWHEEL_PYTHON`,
      { cause: error },
    );
  });
  const read = check(z.union([problemSchema, schema]), JSON.parse(stdout), 'hidden');
  if (!read.ok) throw new Error(`${file}: the answer of ${name} is not understood`);
  const refused = problemSchema.safeParse(read.value);
  if (refused.success) throw new Error(`${file} cannot be read: ${refused.data.problem}`);
  return schema.parse(read.value);
}

function pythonOf({ environment, clone }: Pick<Surroundings, 'environment' | 'clone'>): string {
  const own = clone === undefined ? undefined : path.join(clone, '.venv/bin/python');
  return environment['TIDEWHEEL_PYTHON'] ?? (own !== undefined && existsSync(own) ? own : 'python3');
}
