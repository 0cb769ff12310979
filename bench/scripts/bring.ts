/** Runs a program that brings something from elsewhere: git, or pip. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import * as z from 'zod';

const run = promisify(execFile);

/** What `execFile` throws where the program fails. */
const failedSchema = z.object({ stderr: z.string() });

/** @throws Error in one line: what is missing, and the last line of the program's errors */
export async function bring(what: string, program: string, words: readonly string[]): Promise<void> {
  try {
    await run(program, words);
  } catch (error: unknown) {
    const failed = failedSchema.safeParse(error);
    const lines = failed.data?.stderr.trim().split('\n') ?? [];
    throw new Error(`cannot get ${what}: ${lines.at(-1) || String(error)}`, { cause: error });
  }
}
