/** What `npm run verify-dataset` and `npm run dataset -- verify` print. Every byte is read; nothing is written. */

import type { BlobStore } from '../functions/core/packing/port.ts';
import { listGenerations } from '../functions/core/packing/sealed-arrivals.ts';
import { verifyGeneration } from '../functions/core/packing/verify.ts';

const PROBLEMS_SHOWN = 50;

/** @returns the exit code: 0 when all is whole, 1 when something is not, 2 when there is nothing to read */
export async function verifyAndPrint(
  store: BlobStore,
  { pipeline, generation: wanted }: { readonly pipeline: string; readonly generation?: string | undefined },
): Promise<number> {
  const all = await listGenerations(store, pipeline);
  const generations = all.filter(({ generation }) => wanted === undefined || generation === wanted);
  if (generations.length === 0) {
    const there = all.map(({ generation }) => generation).join(', ') || 'none';
    process.stderr.write(
      `✗ no sealed generation ${wanted ?? ''} under s3://${store.bucket}/${pipeline}/dataset/; there is ${there}\n`,
    );
    return 2;
  }
  let problems = 0;
  for (const manifest of generations) {
    if (manifest.pruned === true) {
      process.stdout.write(`${manifest.generation}: pruned, nothing to read\n`);
      continue;
    }
    const report = await verifyGeneration(store, manifest);
    problems += report.problems.length;
    const verdict = report.problems.length === 0 ? 'whole' : `${report.problems.length} PROBLEMS`;
    const { shards, members, bytes } = report;
    process.stdout.write(
      `${manifest.generation}: ${verdict}; ${shards} shards, ${members} members, ${bytes} bytes read\n`,
    );
    for (const problem of report.problems.slice(0, PROBLEMS_SHOWN)) process.stdout.write(`  ${problem}\n`);
  }
  return problems === 0 ? 0 : 1;
}
