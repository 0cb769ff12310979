/** The cases of `npm run bench:limits`. */
import type { LimitCase } from './case.ts';
import { type DropCase, runDrops } from './drops.ts';
import { runKeptListing, runLongListing } from './long-listing.ts';
import { runMillionFiles } from './million-files.ts';

const drops = (name: string, title: string, given: DropCase): LimitCase => ({
  name,
  title,
  run: (options) => runDrops(given, options),
});

/** Accounts report 10 or 50 slots at their beginning. */
const MORE_SLOTS = 50;

export const CASES: readonly LimitCase[] = [
  drops('drop-25-gb', '25 GB: 100 items of 60 s', {
    drops: [{ pipeline: 'tide', items: 100, itemSeconds: 60 }],
  }),
  drops('drop-100-gb', `100 GB: 400 items of 60 s; a new account has ${MORE_SLOTS} slots here`, {
    drops: [{ pipeline: 'tide', items: 400, itemSeconds: 60 }],
    newAccountSlots: MORE_SLOTS,
  }),
  drops('two-pipelines', '25 GB and 10 GB at once: 100 items of 60 s, 40 of 30 s', {
    drops: [
      { pipeline: 'tide', items: 100, itemSeconds: 60 },
      { pipeline: 'ebb', items: 40, itemSeconds: 30 },
    ],
  }),
  {
    name: 'million-keys',
    title: 'a million keys under incoming/: settle, sweep and plan, each in the memory of its function',
    run: (options) => runLongListing(1_000_000, options),
  },
  {
    name: 'kept-keys',
    title:
      'ten million keys, all sealed but the last 5,000: settle, sweep and plan in the memory of their functions',
    run: (options) => runKeptListing({ keys: 10_000_000, fresh: 5_000 }, options),
  },
  {
    name: 'million-files',
    title: 'a million files of 10 KB from PUT to seal, S3 notifies of each',
    run: (options) => runMillionFiles('objects', options),
  },
  {
    name: 'million-files-markers',
    title: 'the same, S3 notifies of the marker alone',
    run: (options) => runMillionFiles('markers', options),
  },
];
