/**
 * The versions of a dataset: `npm run dataset -- list|pin|prune s3://bucket/pipeline [generation] [--over RUN,...]`.
 * `npm run verify-dataset` reads and proves them.
 */
import { parse } from 'yaml';
import * as z from 'zod';
import { openBlobStore } from '../functions/aws/s3/open-store.ts';
import { layout } from '../functions/core/layout.ts';
import { pruneGenerations } from '../functions/core/packing/generations.ts';
import { type BlobStore, readText } from '../functions/core/packing/port.ts';
import { listGenerations } from '../functions/core/packing/sealed-arrivals.ts';

const USAGE = `npm run dataset -- list  s3://bucket/pipeline
npm run dataset -- pin   s3://bucket/pipeline GENERATION
npm run dataset -- prune s3://bucket/pipeline GENERATION [--over RUN,RUN]   gives up all before GENERATION`;

const declared = z.object({ dataset: z.object({ pin: z.string() }).optional() });

async function pinOf(store: BlobStore, pipeline: string): Promise<string | undefined> {
  const text = await readText(store, layout.pipeline(pipeline));
  return text === undefined ? undefined : declared.parse(parse(text)).dataset?.pin;
}

interface Asked {
  readonly store: BlobStore;
  readonly pipeline: string;
  readonly generation: string | undefined;
  readonly over: readonly string[];
}

const say = (line: string): void => void process.stdout.write(`${line}\n`);

async function list({ store, pipeline }: Asked): Promise<number> {
  const pin = await pinOf(store, pipeline);
  for (const { generation, shards, samples, bytes, listedAt, pruned } of await listGenerations(
    store,
    pipeline,
  )) {
    const state = pruned === true ? 'pruned' : shards.length === 0 ? 'nothing but rejections' : 'sealed';
    const mark = generation === pin ? ', pinned' : '';
    say(
      `${generation}  ${state}${mark}  ${shards.length} shards, ${samples} samples, ${bytes} bytes, listed ${listedAt}`,
    );
  }
  return 0;
}

async function pin({ store, pipeline, generation }: Asked): Promise<number> {
  const found = (await listGenerations(store, pipeline)).find((one) => one.generation === generation);
  if (found === undefined || found.shards.length === 0) {
    process.stderr.write(`${generation} is no generation of ${pipeline} that can be trained on\n`);
    return 1;
  }
  say(
    `Write this into ${layout.pipeline(pipeline)}; runs that begin afterwards train on it:\n\ndataset:\n  pin: ${generation}`,
  );
  return 0;
}

async function prune({ store, pipeline, generation, over }: Asked): Promise<number> {
  const before = generation ?? '';
  const result = await pruneGenerations(store, { pipeline, before, over, pin: await pinOf(store, pipeline) });
  if (result.kind === 'pruned') {
    say(`${result.generations.length} generations given up, ${result.objects} objects deleted`);
    return 0;
  }
  process.stderr.write(`nothing is deleted: ${result.reason}\n`);
  return 1;
}

const COMMANDS = { list, pin, prune };
const isCommand = (name: string): name is keyof typeof COMMANDS => Object.hasOwn(COMMANDS, name);

async function main([command = '', address = '', ...rest]: readonly string[]): Promise<number> {
  const [, bucket, pipeline] = /^s3:\/\/([^/]+)\/([^/]+)\/?$/.exec(address) ?? [];
  const flag = rest.indexOf('--over');
  const over = flag < 0 ? [] : (rest[flag + 1] ?? '').split(',');
  const generation = flag === 0 ? undefined : rest[0];
  const isWhole = command === 'list' || generation !== undefined;
  if (!isCommand(command) || bucket === undefined || pipeline === undefined || !isWhole) {
    process.stderr.write(`${USAGE}\n`);
    return 2;
  }
  await using opened = await openBlobStore({ bucket });
  return await COMMANDS[command]({ store: opened.store, pipeline, generation, over });
}

process.exitCode = await main(process.argv.slice(2));
