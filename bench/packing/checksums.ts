/** What CRC-64/NVME costs, ours and AWS's own: `node_modules/.bin/node bench/packing/checksums.ts [--rounds 30]`. */
import { Crc64Nvme } from '@aws-sdk/checksums/crc';
import { readCommandLine, runCommand } from '@tidewheel/kit/command-line.ts';
import * as z from 'zod';
import { crc64NvmeBase64 } from '../../functions/core/packing/formats/crc64-nvme.ts';
import { corpusBody } from './listing.ts';

const USAGE = `node_modules/.bin/node bench/packing/checksums.ts [options]

Prints as JSON the CPU microseconds that CRC-64/NVME takes for one body, the least of all rounds.

  --bytes 10000   of the body
  --rounds 30     of 1,000 bodies each`;

const whole = z.coerce.number('give a whole number').int('give a whole number').min(1, 'give 1 or more');
const spec = {
  options: {
    bytes: { type: 'string', default: '10000' },
    rounds: { type: 'string', default: '30' },
  },
  schema: z.object({ bytes: whole.max(8_000_000, 'give at most 8000000'), rounds: whole }),
} as const;

const BODIES = 1_000;

async function awsBase64(body: Uint8Array): Promise<string> {
  const crc = new Crc64Nvme();
  crc.update(body);
  return Buffer.from(await crc.digest()).toString('base64');
}

async function compare(args: readonly string[]): Promise<number> {
  const { bytes, rounds } = readCommandLine(args, spec).values;
  const body = corpusBody(1, bytes);
  if (crc64NvmeBase64([body]) !== (await awsBase64(body))) throw new Error('the two checksums differ');
  const best = { ours: Number.POSITIVE_INFINITY, aws: Number.POSITIVE_INFINITY };
  for (let round = 0; round < rounds; round += 1) {
    const start = process.cpuUsage();
    for (let count = 0; count < BODIES; count += 1) crc64NvmeBase64([body]);
    const ours = process.cpuUsage(start);
    const middle = process.cpuUsage();
    for (let count = 0; count < BODIES; count += 1) await awsBase64(body);
    const aws = process.cpuUsage(middle);
    best.ours = Math.min(best.ours, (ours.user + ours.system) / BODIES);
    best.aws = Math.min(best.aws, (aws.user + aws.system) / BODIES);
  }
  process.stdout.write(`${JSON.stringify({ bytes, cpuMicroseconds: best })}\n`);
  return 0;
}

await runCommand(USAGE, compare);
