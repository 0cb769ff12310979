/** What a quality report costs, alone in a process: `node_modules/.bin/node bench/packing/quality.ts [--samples 1000000]`. */
import { createHash } from 'node:crypto';
import { readCommandLine, runCommand } from '@tidewheel/kit/command-line.ts';
import sharp from 'sharp';
import * as z from 'zod';
import { openImageEngine } from '../../functions/aws/images/image-engine.ts';
import { imageLook } from '../../functions/core/packing/media/image-look.ts';
import { mediaFacts } from '../../functions/core/packing/media/media-facts.ts';
import type { MemberLine } from '../../functions/core/packing/model/documents.ts';
import { commonOf } from '../../functions/core/packing/quality/digest-list.ts';
import { nearDuplicates } from '../../functions/core/packing/quality/near-duplicates.ts';
import { GenerationTally } from '../../functions/core/packing/quality/tally.ts';
import { packingSchema } from '../../functions/core/pipeline/packing.ts';

const USAGE = `node_modules/.bin/node bench/packing/quality.ts [options]

Prints as JSON the CPU time that a member list's facts take for one member (a JPEG and a text of 10 kB, a prepared image
of 256 x 192), and that a report takes for so many samples with prepared images, against as many others; and the peak
memory of the process.

  --samples 1000000   of each of the two generations`;

const spec = {
  options: { samples: { type: 'string', default: '1000000' } },
  schema: z.object({
    samples: z.coerce.number('give a whole number').int('give a whole number').min(1, 'give 1 or more'),
  }),
} as const;

async function cpuSeconds(work: () => unknown): Promise<number> {
  const start = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1e6;
}

/** After as many rounds that do not count. */
async function secondsEach(rounds: number, work: () => unknown): Promise<number> {
  const all = async (): Promise<void> => {
    for (let round = 0; round < rounds; round += 1) await work();
  };
  await all();
  return (await cpuSeconds(all)) / rounds;
}

const noise = { type: 'gaussian', mean: 128, sigma: 30 } as const;
const picture = (width: number, height: number) =>
  sharp({ create: { width, height, channels: 3, background: '#000', noise } });

async function membersCost() {
  const jpeg = await picture(160, 120).jpeg({ quality: 80 }).toBuffer();
  const text = Buffer.from('a line of some words\n'.repeat(480));
  const settings = packingSchema.parse({ prepare: { image: { maxSide: 256 } } }).prepare?.image;
  const photograph = await picture(512, 384).jpeg({ quality: 90 }).toBuffer();
  const engine = openImageEngine();
  if (engine === undefined || settings === undefined) throw new Error('sharp is not installed');
  const prepared = await engine.prepare(photograph, settings);
  if (prepared.kind !== 'prepared') throw new Error(prepared.reason);
  const look = async (): Promise<void> => {
    const { data, info } = await sharp(prepared.bytes).raw().toBuffer({ resolveWithObject: true });
    imageLook(data, info.width, info.height);
  };
  return {
    jpegBytes: jpeg.length,
    jpegMicroseconds: (await secondsEach(100_000, () => mediaFacts('a.jpg', [jpeg], jpeg.length))) * 1e6,
    textBytes: text.length,
    textMicroseconds: (await secondsEach(5_000, () => mediaFacts('a.txt', [text], text.length))) * 1e6,
    prepareMilliseconds: (await secondsEach(200, () => engine.prepare(photograph, settings))) * 1e3,
    ofWhichLookMilliseconds: (await secondsEach(200, look)) * 1e3,
  };
}

function lineAt(sample: number, seed: string): string {
  const sha256 = createHash('sha256').update(`${seed}${sample}`).digest('hex');
  const line: MemberLine = {
    key: `pets/incoming/class-${sample % 100}/${sample}.jpg`,
    etag: sha256.slice(0, 32),
    name: `class-${sample % 100}/${sample}.jpg`,
    column: 'image',
    size: 8_000 + (sample % 4_000),
    offset: sample * 12_000,
    sha256,
    sample,
    source: { size: 100_000, sha256 },
    media: { width: 256, height: 192, dhash: sha256.slice(16, 32), mean: [1, 2, 3], std: [1, 2, 3] },
  };
  return JSON.stringify(line);
}

function tallied(samples: number, seed: string): GenerationTally {
  const counted = new GenerationTally();
  for (let sample = 0; sample < samples; sample += 1) counted.add(JSON.parse(lineAt(sample, seed)));
  counted.endShard();
  return counted;
}

async function report(args: readonly string[]): Promise<number> {
  const { samples } = readCommandLine(args, spec).values;
  const members = await membersCost();
  let mine = new GenerationTally();
  const tallySeconds = await cpuSeconds(() => {
    mine = tallied(samples, 'mine');
  });
  const others = tallied(samples, 'others');
  const [a, b] = [mine.digests(), others.digests()];
  const compareSeconds = await cpuSeconds(() => commonOf(a, b));
  const looksSeconds = await cpuSeconds(() => nearDuplicates(mine.looks, others.looks));
  const peakMegabytes = Math.round(process.resourceUsage().maxRSS / 1e3);
  const found = { samples, members, tallySeconds, compareSeconds, looksSeconds, peakMegabytes };
  const short = (_: string, value: unknown): unknown =>
    typeof value === 'number' ? Number(value.toPrecision(3)) : value;
  process.stdout.write(`${JSON.stringify(found, short, 1)}\n`);
  return 0;
}

await runCommand(USAGE, report);
