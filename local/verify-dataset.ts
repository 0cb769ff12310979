/**
 * Checks a sealed dataset from the bucket alone: `npm run verify-dataset -- s3://bucket/pipeline[/generation]`.
 * Every byte of every shard is read; nothing is written.
 */
import { openBlobStore } from '../functions/aws/s3/open-store.ts';
import { listGenerations } from '../functions/core/packing/sealed-arrivals.ts';
import { verifyGeneration } from '../functions/core/packing/verify.ts';

const USAGE = 'npm run verify-dataset -- s3://bucket/pipeline[/generation]';

async function main(): Promise<number> {
  const match = /^s3:\/\/([^/]+)\/([^/]+)(?:\/(?:dataset\/)?([^/]+))?\/?$/.exec(process.argv[2] ?? '');
  const [, bucket, pipeline, wanted] = match ?? [];
  if (bucket === undefined || pipeline === undefined) {
    process.stderr.write(`name the dataset: ${USAGE}\n`);
    return 2;
  }
  await using opened = await openBlobStore({ bucket });
  const generations = (await listGenerations(opened.store, pipeline)).filter(
    ({ generation }) => wanted === undefined || generation === wanted,
  );
  if (generations.length === 0) {
    process.stderr.write(`no sealed generation under s3://${bucket}/${pipeline}/dataset/${wanted ?? ''}\n`);
    return 2;
  }
  let problems = 0;
  for (const manifest of generations) {
    if (manifest.pruned === true) {
      process.stdout.write(`${manifest.generation}: pruned, nothing to read\n`);
      continue;
    }
    const report = await verifyGeneration(opened.store, manifest);
    problems += report.problems.length;
    const verdict = report.problems.length === 0 ? 'whole' : `${report.problems.length} PROBLEMS`;
    const { shards, members, bytes } = report;
    process.stdout.write(
      `${manifest.generation}: ${verdict}; ${shards} shards, ${members} members, ${bytes} bytes read\n`,
    );
    for (const problem of report.problems.slice(0, 50)) process.stdout.write(`  ${problem}\n`);
  }
  return problems === 0 ? 0 : 1;
}

process.exitCode = await main();
