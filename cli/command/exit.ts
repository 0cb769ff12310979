/** Exit codes of every verb, for scripts (docs/cli.md; decision 25 says why words that are wrong end with 8). */
import { UsageError } from '@tidewheel/kit/command-line.ts';
import { messageOf } from '@tidewheel/kit/errors.ts';
import type { Terminal } from './terminal.ts';

export const EXIT = {
  ok: 0,
  error: 1,
  runFailed: 2,
  deadlineMissed: 3,
  notAllowed: 4,
  nothingStarted: 5,
  inputNeeded: 8,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** Credentials are missing, refused, or lack a permission. */
export class NotAllowedError extends Error {
  override readonly name = 'NotAllowedError';
}

/** @returns the exit code of an error that ended a verb */
function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof UsageError) return EXIT.inputNeeded;
  if (error instanceof NotAllowedError) return EXIT.notAllowed;
  return EXIT.error;
}

/**
 * A verb ends with its exit code, or with an error, which becomes messages and an exit code.
 * @param help where a person finds what the words may be; undefined where no verb was named
 */
export async function endingOf(
  act: () => Promise<number>,
  { problem, note }: Pick<Terminal, 'problem' | 'note'>,
  help?: string,
): Promise<number> {
  try {
    return await act();
  } catch (error: unknown) {
    const isUsage = error instanceof UsageError;
    for (const each of isUsage ? error.problems : [messageOf(error)]) problem(each);
    if (isUsage && help !== undefined) note(`\n${help}`);
    return exitCodeOf(error);
  }
}
