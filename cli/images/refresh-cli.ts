/**
 * Renews packages/catalog/facts/image-table.json from a checkout of github.com/aws/deep-learning-containers:
 *   git clone --depth 1 https://github.com/aws/deep-learning-containers /tmp/dlc
 *   npm run images:refresh -- /tmp/dlc
 */

import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  accountsOf,
  type ImageRow,
  type ImageTable,
  imageRow,
  refresh,
  TRAINING_REPOSITORIES,
} from '@tidewheel/catalog/images.ts';
import { readCommandLine, runCommand } from '@tidewheel/kit/command-line.ts';
import * as z from 'zod';

const TABLE = join(import.meta.dirname, '../../packages/catalog/facts/image-table.json');

const USAGE = `npm run images:refresh -- FOLDER

Renews the table of AWS's training images (packages/catalog/facts/image-table.json) from FOLDER, a checkout of
github.com/aws/deep-learning-containers, and prints what changed.`;

function main(args: readonly string[]): Promise<number> {
  const { positionals } = readCommandLine(args, {
    options: {},
    schema: z.object({}),
    positionals: ['FOLDER'],
    check: ([folder]) =>
      folder === undefined || existsSync(join(folder, 'docs/src/data'))
        ? []
        : [`${folder} has no docs/src/data: name a checkout of github.com/aws/deep-learning-containers`],
  });
  renew(positionals[0] ?? '');
  return Promise.resolve(0);
}

function renew(checkout: string): void {
  const rows = TRAINING_REPOSITORIES.flatMap((repository): ImageRow[] => {
    const folder = join(checkout, 'docs/src/data', repository);
    if (!existsSync(folder)) return [];
    const files = readdirSync(folder).filter((name) => name.endsWith('.yml'));
    return files.flatMap((name) => imageRow(repository, readFileSync(join(folder, name), 'utf8')) ?? []);
  });
  const accounts = accountsOf(readFileSync(join(checkout, 'docs/reference/region_availability.md'), 'utf8'));
  if (rows.length === 0 || Object.keys(accounts).length === 0)
    throw new Error(
      `${checkout} holds no images or no accounts where they used to be: the repository was rearranged, nothing was written`,
    );
  const known = JSON.parse(readFileSync(TABLE, 'utf8')) as ImageTable;
  const { table, changes } = refresh(known, { source: sourceOf(checkout), accounts, images: rows });
  writeFileSync(TABLE, `${JSON.stringify(table, null, 2)}\n`);
  for (const change of changes) console.log(change);
  console.log(
    `${rows.length} images and ${Object.keys(accounts).length} accounts read, ${changes.length} changes`,
  );
}

/** The commit, so that every row can be traced. */
function sourceOf(folder: string): string {
  const git = (...arguments_: string[]): string =>
    execFileSync('git', ['-C', folder, ...arguments_], { encoding: 'utf8' }).trim();
  try {
    return `aws/deep-learning-containers at ${git('rev-parse', 'HEAD')} (${git('log', '-1', '--format=%cs')}): docs/src/data, docs/reference/region_availability.md; GovCloud from aws/sagemaker-python-sdk`;
  } catch {
    return `aws/deep-learning-containers, read from a copy without history`;
  }
}

await runCommand(USAGE, main);
