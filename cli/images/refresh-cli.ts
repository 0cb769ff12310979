/**
 * Renews packages/catalog/facts/image-table.json from checkouts of aws/deep-learning-containers and
 * aws/sagemaker-python-sdk, in that order:
 *   git clone --depth 1 https://github.com/aws/deep-learning-containers /tmp/dlc
 *   git clone --depth 1 https://github.com/aws/sagemaker-python-sdk /tmp/sdk
 *   npm run images:refresh -- /tmp/dlc /tmp/sdk
 */

import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  ACCOUNT_TABLES,
  accountsOf,
  type ImageRow,
  imageRow,
  imageTableSchema,
  refresh,
  sdkAccounts,
  sdkRows,
  TRAINING_REPOSITORIES,
} from '@tidewheel/catalog/images.ts';
import { FRAMEWORKS } from '@tidewheel/declaration/pipeline.ts';
import { readCommandLine, runCommand } from '@tidewheel/kit/command-line.ts';
import * as z from 'zod';

const TABLE = join(import.meta.dirname, '../../packages/catalog/facts/image-table.json');

const SDK_TABLES = 'sagemaker-core/src/sagemaker/core/image_uri_config';

const USAGE = `npm run images:refresh -- CONTAINERS SDK

Renews the table of AWS's training images (packages/catalog/facts/image-table.json) from CONTAINERS, a checkout of
github.com/aws/deep-learning-containers, and SDK, one of github.com/aws/sagemaker-python-sdk, and prints what changed.`;

function main(args: readonly string[]): Promise<number> {
  const { positionals } = readCommandLine(args, {
    schema: z.object({}),
    positionals: ['CONTAINERS', 'SDK'],
    check: ([containers = '', sdk = '']) => [
      ...lacks(containers, 'docs/src/data', 'aws/deep-learning-containers'),
      ...lacks(sdk, SDK_TABLES, 'aws/sagemaker-python-sdk'),
    ],
  });
  const [containers = '', sdk = ''] = positionals;
  renew(containers, sdk);
  return Promise.resolve(0);
}

const lacks = (folder: string, below: string, repository: string): string[] =>
  folder === '' || existsSync(join(folder, below))
    ? []
    : [`${folder} has no ${below}: name a checkout of github.com/${repository}`];

function renew(checkout: string, sdk: string): void {
  const rows = TRAINING_REPOSITORIES.flatMap((repository): ImageRow[] => {
    const folder = join(checkout, 'docs/src/data', repository);
    if (!existsSync(folder)) return [];
    const files = readdirSync(folder).filter((name) => name.endsWith('.yml'));
    return files.flatMap((name) => imageRow(repository, readFileSync(join(folder, name), 'utf8')) ?? []);
  });
  const page = readFileSync(join(checkout, 'docs/reference/region_availability.md'), 'utf8');
  const accounts = accountsOf(page);
  if (rows.length === 0 || Object.keys(accounts).length === 0)
    throw new Error(
      `${checkout} holds no images or no accounts where they used to be: the repository was rearranged, nothing was written`,
    );
  const known = imageTableSchema.parse(JSON.parse(readFileSync(TABLE, 'utf8')));
  const configuration = (framework: string): string =>
    readFileSync(join(sdk, SDK_TABLES, `${framework}.json`), 'utf8');
  // The SDK has the images that the other list names no more, and GovCloud.
  const { table, changes } = refresh(known, {
    source: `aws/deep-learning-containers ${commitOf(checkout)}: docs/src/data, docs/reference/region_availability.md; aws/sagemaker-python-sdk ${commitOf(sdk)}: ${SDK_TABLES}`,
    accounts: { ...sdkAccounts(configuration('pytorch')), ...accounts },
    algorithmAccounts: {
      ...sdkAccounts(configuration('xgboost')),
      ...accountsOf(page, ACCOUNT_TABLES.algorithmAccounts),
    },
    images: [...FRAMEWORKS.flatMap((name) => sdkRows(name, configuration(name))), ...known.images, ...rows],
  });
  writeFileSync(TABLE, `${JSON.stringify(table, null, 2)}\n`);
  for (const change of changes) console.log(change);
  console.log(
    `${rows.length} images and ${Object.keys(accounts).length} accounts read, ${changes.length} changes`,
  );
}

/** So that every row can be traced. */
function commitOf(folder: string): string {
  const git = (...arguments_: string[]): string =>
    execFileSync('git', ['-C', folder, ...arguments_], { encoding: 'utf8' }).trim();
  try {
    return `at ${git('rev-parse', 'HEAD')} (${git('log', '-1', '--format=%cs')})`;
  } catch {
    return 'from a copy without history';
  }
}

await runCommand(USAGE, main);
