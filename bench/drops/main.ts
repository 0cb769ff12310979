/** Requests of many small files from disk to sealed shard, in bundles: `npm run bench:drops`. */
import { readCommandLine, runCommand } from '@tidewheel/emulators/shared/command-line.ts';
import * as z from 'zod';
import { type DropOutcome, runDropCampaign } from './campaign.ts';

const USAGE = `npm run bench:drops -- [options]

Writes files, drops them in bundles to an S3 emulator, packs and seals them, and counts every S3 request. The uploading
process is killed at seeded moments and started again. Each sealed member is compared with its file.

  --files 100000    files
  --bytes 10000     of each
  --kills 0         how often the drop is killed; what it had sent is then sent again, and counted
  --seed drops      of the files and the kills
  --before 20000    files of an earlier drop of its own: what more files cost follows from the two
  --plain           also copy the files one by one, and compare the two datasets
  --json            print JSON`;

const whole = (least: number) =>
  z.coerce.number('give a whole number').int('give a whole number').min(least, `give ${least} or more`);

const spec = {
  options: {
    files: { type: 'string', default: '100000' },
    bytes: { type: 'string', default: '10000' },
    kills: { type: 'string', default: '0' },
    seed: { type: 'string', default: 'drops' },
    before: { type: 'string', default: '20000' },
    plain: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
  schema: z.object({
    files: whole(1),
    bytes: whole(0),
    kills: whole(0),
    seed: z.string(),
    before: whole(1),
    plain: z.boolean(),
    json: z.boolean(),
  }),
} as const;

const MILLION = 1_000_000;

async function main(args: readonly string[]): Promise<number> {
  const { files, bytes, kills, seed, before, plain, json } = readCommandLine(args, spec).values;
  const common = { fileBytes: bytes, seed };
  const fewer = await runDropCampaign({ ...common, files: before, kills: 0, copiesPlainly: false });
  const outcome = await runDropCampaign({ ...common, files, kills, copiesPlainly: plain });
  const [less, requests] = [total(fewer), total(outcome)];
  const perFile = (requests - less) / Math.max(1, files - before);
  const aMillion = Math.ceil(requests + (MILLION - files) * perFile);
  if (json)
    console.log(JSON.stringify({ files, bytes, ...outcome, before, less, total: requests, aMillion }));
  else {
    for (const [step, counts] of Object.entries(outcome.requests))
      console.log(
        `${step.padEnd(5)} ${Object.entries(counts)
          .map(([kind, count]) => `${kind} ${count}`)
          .join(', ')}`,
      );
    console.log(
      `${requests} requests for ${files} files of ${bytes} bytes in ${outcome.shards} shards; ${outcome.killed} kills; ${outcome.differences.length} of ${outcome.samples} samples differ`,
    );
    console.log(
      `${less} requests for ${before} files; so a million take ${requests} + (${MILLION} - ${files}) x (${requests} - ${less}) / (${files} - ${before}) = ${aMillion}`,
    );
  }
  return outcome.differences.length === 0 ? 0 : 1;
}

const total = ({ requests }: DropOutcome): number =>
  Object.values(requests)
    .flatMap((counts) => Object.values(counts))
    .reduce((sum, count) => sum + count, 0);

await runCommand(USAGE, main);
