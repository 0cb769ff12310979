/** What ends a verb: its exit code, or an error, which becomes messages and an exit code. */
import { UsageError } from '@tidewheel/kit/command-line.ts';
import { messageOf } from '@tidewheel/kit/errors.ts';
import { exitCodeOf } from './exit.ts';
import type { Terminal } from './terminal.ts';

/** @param help where a person finds what the words may be; undefined where no verb was named */
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
