/** Reads the command line of `npm start`, and sees whether a region can start there, before anything else is loaded. */

import { join, resolve } from 'node:path';
import { DECLARED_LAUNCHERS, DEFAULT_LAUNCHER } from '@tidewheel/declaration/launchers.ts';
import { LIMIT_PROFILES } from '@tidewheel/emulators/limits/profiles.ts';
import { ensureStartable } from '@tidewheel/emulators/region/startable.ts';
import { marketScriptOf } from '@tidewheel/emulators/spot-market/script-option.ts';
import { type CommandSpec, readCommandLine, usable } from '@tidewheel/kit/command-line.ts';
import { messageOf } from '@tidewheel/kit/errors.ts';
import { wholeNumber } from '@tidewheel/kit/fields.ts';
import { makeWritable } from '@tidewheel/kit/files.ts';
import * as z from 'zod';
import {
  A_FOLDER,
  CHAOS_NUMBERS,
  calledFrom,
  contraryOptions,
  SECONDS,
  wholeFrom,
} from '../setup/start-options.mjs';

export const projectFolder = join(import.meta.dirname, '../..');

const typed = (folder: string): string => resolve(calledFrom(), folder);

function chaosNumber(name: keyof typeof CHAOS_NUMBERS) {
  const [least, most, standard] = CHAOS_NUMBERS[name];
  return wholeNumber(least, most, wholeFrom(CHAOS_NUMBERS[name])).default(standard);
}

export const startCommand = {
  schema: z.object({
    once: z.boolean().default(false),
    'no-demo': z.boolean().default(false),
    chaos: z.boolean().default(false),
    'chaos-every': chaosNumber('chaos-every'),
    'chaos-seconds': chaosNumber('chaos-seconds'),
    'chaos-seed': chaosNumber('chaos-seed'),
    launcher: z.enum(DECLARED_LAUNCHERS, `write ${DECLARED_LAUNCHERS.join(', ')}`).default(DEFAULT_LAUNCHER),
    market: z
      .string()
      .transform((text, context) => {
        try {
          return marketScriptOf(
            text.replace(/^trace:(.+)$/s, (_, folder: string) => `trace:${typed(folder)}`),
          );
        } catch (error: unknown) {
          context.addIssue(messageOf(error));
          return z.NEVER;
        }
      })
      .prefault('demo'),
    grace: z.coerce.number(SECONDS).min(1, SECONDS).max(120, SECONDS).default(30),
    limits: z.enum(LIMIT_PROFILES, `write ${LIMIT_PROFILES.join(', ')}`).default('none'),
    state: z.string().min(1, A_FOLDER).transform(typed).default(join(projectFolder, '.tidewheel')),
    verbose: z.boolean().default(false),
    json: z.boolean().default(false),
  }),
  check: (_words, _values, given) => contraryOptions(given),
} satisfies CommandSpec<z.ZodType>;

export type StartOptions = z.output<typeof startCommand.schema>;

/** Where a start says what it does: with --json, standard output has the document alone. */
export const outputOf = ({ json }: Pick<StartOptions, 'json'>): NodeJS.WriteStream =>
  json ? process.stderr : process.stdout;

/**
 * Waits for a start before this one that is ending.
 * @throws UsageError with every mistake
 * @throws Error when another region has the folder, or another process the ports of its state
 */
export async function readyToStart(args: readonly string[]): Promise<StartOptions> {
  const { values } = readCommandLine(args, startCommand);
  await usable('--state', values.state, () => makeWritable(values.state));
  const out = outputOf(values);
  await ensureStartable(values.state, (pid) =>
    out.write(`  waiting for the start before this one to end: process ${pid} saves its state\n`),
  );
  return values;
}
