/** `tidewheel up`: what of it can be said without a clone, whose tidewheel.mjs starts the region before this is loaded. */
import * as z from 'zod';
import { defineVerb, flag, option } from '../command/verb.ts';
import { START_OPTIONS, UP_HELP, UP_SUMMARY } from '../setup/start-options.mjs';

const SEE_HELP = 'tidewheel up --help';
const { 'no-demo': _, ...options } = START_OPTIONS;

export const verb = {
  ...defineVerb({
    name: 'up',
    summary: UP_SUMMARY,
    deployment: 'none',
    options: Object.fromEntries(
      Object.entries<{ readonly type: 'string' | 'boolean' }>({ ...options, demo: { type: 'boolean' } }).map(
        ([name, { type }]) => [
          name,
          type === 'boolean' ? flag(SEE_HELP) : option(name.toUpperCase(), SEE_HELP, z.string().optional()),
        ],
      ),
    ),
    examples: [],
    run: () =>
      Promise.reject(
        new Error(
          'a region on this machine needs a clone of the project: run it there (node cli/tidewheel.mjs up)',
        ),
      ),
  }),
  help: () => UP_HELP.trimEnd(),
};
