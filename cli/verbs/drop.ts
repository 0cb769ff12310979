/** `tidewheel drop`: uploads a folder as arrivals, in parallel, and goes on where an earlier call was cut short. */
import path from 'node:path';
import { UsageError } from '@tidewheel/emulators/shared/command-line.ts';
import * as z from 'zod';
import { bytesText, durationText } from '../../client/amounts.ts';
import type { BlobStore } from '../../functions/core/packing/model/blob-store.ts';
import { bucketKeys } from '../../functions/core/shared/keys.ts';
import type { Context } from '../command/context.ts';
import { declarationAt, type LocalDeclaration } from '../command/declared.ts';
import { EXIT } from '../command/exit.ts';
import { countText } from '../command/format.ts';
import { noPipeline, pipelineHere, pipelineMeant, type RunRow, runMeant } from '../command/runs.ts';
import { defineVerb } from '../command/verb.ts';
import { withBucket } from '../dataset/open.ts';
import { appliedText, apply, storedDeclaration } from '../upload/apply.ts';
import { type Groups, groupFiles } from '../upload/bundle-groups.ts';
import { groupingOf, suggestion } from '../upload/bundling.ts';
import { dropBundles } from '../upload/drop-bundles.ts';
import { type DropProgress, type DroppedFiles, dropFiles } from '../upload/drop-folder.ts';
import { filesBelow, type LocalFile } from '../upload/files.ts';
import { openJournal } from '../upload/journal.ts';
import { newestRun, runAfter } from '../watch/begin.ts';
import { type Settle, settledText, settleOf } from '../watch/settling.ts';
import { watchRun } from '../watch/watch-run.ts';

const LANES = 'write a whole number from 1 to 256';
/** S3's limit of a key, in bytes of UTF-8. */
const MOST_KEY_BYTES = 1_024;

export const verb = defineVerb({
  name: 'drop',
  summary: 'upload a folder of data; a run begins when it is complete',
  about: `
Files go to <pipeline>/incoming/ under their names in DIR (default: x-local.data of tidewheel.yaml). DIR may also be a
folder with a tidewheel.yaml, whose data is meant. A call that was killed goes on where it was; a file that has not
changed is not sent again. If tidewheel.yaml of this folder is not declared yet, it is declared first, as by tidewheel
apply.

With --bundle, files of up to 1 MiB go many in one object: a million files of 10 KB take a few hundred objects instead
of a million. They are packed as if each had come by itself.`,
  positionals: ['DIR?', 'PIPELINE?'],
  options: {
    again: { type: 'boolean', about: 'also send what was sent before' },
    bundle: { type: 'boolean', about: 'send small files many in one object' },
    'dry-run': { type: 'boolean', about: 'say what would be sent' },
    lanes: { type: 'string', value: 'N', about: 'uploads at once (default 32)' },
    watch: { type: 'boolean', short: 'w', about: 'then show the run; its result is the exit code' },
  },
  schema: z.object({
    again: z.boolean().default(false),
    bundle: z.boolean().default(false),
    'dry-run': z.boolean().default(false),
    lanes: z.coerce.number(LANES).int(LANES).min(1, LANES).max(256, LANES).default(32),
    watch: z.boolean().default(false),
  }),
  examples: [
    ['', 'the data of this folder, as tidewheel.yaml names it'],
    ['photos pets --watch', 'a folder for the pipeline pets'],
    ['photos --bundle', 'hundreds of thousands of small files'],
  ],
  run: async ({ values, positionals: [dir, pipeline] }, context) => {
    const { bucket } = await context.deployment();
    return withBucket(bucket, async (store) => {
      const target = await targetOf(context, { dir, pipeline, store });
      const newestBefore = values.watch ? await newestRun(await context.api(), target.pipeline) : undefined;
      const dropped = await dropAll(context, store, { ...target, ...values, bucket });
      if (dropped.failed.length > 0 || context.json || !values.watch) return endOf(dropped);
      return watchRun(context, await runOf(context, target.pipeline, { newestBefore, ...dropped }), {
        exitStatus: true,
      });
    });
  },
});

interface Dropped {
  readonly newestBefore: RunRow | undefined;
  readonly sent: { readonly files: number };
}

/** The run that takes what was sent; where nothing was new, the newest. */
const runOf = async (context: Context, pipeline: string, { newestBefore, sent }: Dropped): Promise<string> =>
  sent.files === 0
    ? runMeant(context, pipeline)
    : runAfter({ api: await context.api(), terminal: context.terminal }, pipeline, newestBefore);

const endOf = ({ failed }: { readonly failed: readonly unknown[] }): number =>
  failed.length > 0 ? EXIT.error : EXIT.ok;

interface Asked {
  readonly dir: string | undefined;
  readonly pipeline: string | undefined;
  readonly store: BlobStore;
}

interface Target {
  readonly folder: string;
  readonly pipeline: string;
  /** Undefined where the stored declaration cannot be used. */
  readonly settle: Settle | undefined;
}

async function targetOf(context: Context, asked: Asked): Promise<Target> {
  const { pipeline: given, store } = asked;
  const { project, dir } = await placesOf(context, asked);
  const isDeclared = (await pipelineHere(project)) !== undefined;
  const declaration = isDeclared ? await declarationAt(project) : undefined;
  const pipeline = given ?? declaration?.name ?? (await pipelineMeant(context, undefined));
  const data = declaration?.data === undefined ? undefined : path.join(declaration.folder, declaration.data);
  const folder = dir ?? data;
  if (folder === undefined)
    throw new UsageError(['DIR is missing: name the folder with the data, or write it as x-local.data']);
  const settle = await declare(context, { pipeline, declaration, store });
  return { folder, pipeline, settle };
}

/** DIR is a folder of data, or one with a declaration, which names its data: a person may stand in the clone. */
async function placesOf({ folder }: Context, { dir, pipeline }: Asked) {
  const named = dir === undefined ? undefined : path.resolve(folder, dir);
  const isProject =
    named !== undefined && pipeline === undefined && (await pipelineHere(named)) !== undefined;
  return isProject ? { project: named, dir: undefined } : { project: folder, dir: named };
}

interface Declared {
  readonly pipeline: string;
  readonly declaration: LocalDeclaration | undefined;
  readonly store: BlobStore;
}

/** A pipeline that is not declared packs and trains nothing. */
async function declare(
  context: Context,
  { pipeline, declaration, store }: Declared,
): Promise<Settle | undefined> {
  const api = await context.api();
  const stored = await storedDeclaration(api, pipeline);
  if (stored !== undefined) return settleOf(stored);
  if (declaration?.name !== pipeline) throw await noPipeline(api, pipeline);
  context.terminal.note(appliedText(await apply({ api, store, declaration, dryRun: false }), false));
  return settleOf({ name: pipeline, declaration: declaration.text });
}

interface Drop extends Target {
  readonly bucket: string;
  readonly again: boolean;
  readonly bundle: boolean;
  readonly 'dry-run': boolean;
  readonly lanes: number;
}

async function dropAll(context: Context, store: BlobStore, drop: Drop) {
  const { terminal, json } = context;
  const prefix = bucketKeys.incoming(drop.pipeline);
  const { files, skipped } = await filesOf(drop.folder, prefix);
  const journal = await openJournal({
    environment: context.environment,
    of: [drop.bucket, drop.pipeline, drop.folder],
  });
  const isWaiting = (file: LocalFile): boolean => drop.again || !journal.has(file);
  const waiting = files.filter(isWaiting);
  const groups = drop.bundle
    ? groupFiles(files, await groupingOf(context, drop))
    : { bundles: [], plain: files };
  for (const { name, why } of skipped) terminal.problem(`${name} is left out: ${why}`);
  const bytes = waiting.reduce((sum, { size }) => sum + size, 0);
  const meter = new Meter(waiting.length, bytes, terminal.isLive);
  const stopping = new AbortController();
  const stop = () => stopping.abort();
  process.on('SIGINT', stop);
  let drawn = 0;
  const draw = (done: DropProgress) => {
    const line = meter.line(done);
    if (line === undefined || json) return;
    if (!terminal.isLive) terminal.note(line);
    else {
      terminal.redraw([line], drawn);
      drawn = 1;
    }
  };
  const sent = drop['dry-run']
    ? { files: 0, bytes: 0, failed: [] }
    : await send(
        { store, journal, lanes: drop.lanes, signal: stopping.signal, onProgress: draw },
        {
          pipeline: drop.pipeline,
          bundles: groups.bundles.map((bundle) => bundle.filter(isWaiting)),
          plain: groups.plain.filter(isWaiting),
        },
      );
  process.off('SIGINT', stop);
  const result = {
    pipeline: drop.pipeline,
    folder: drop.folder,
    sent: { files: sent.files, bytes: sent.bytes },
    before: files.length - waiting.length,
    left: waiting.length - sent.files,
    skipped,
    failed: sent.failed,
  };
  for (const { name, why } of sent.failed.slice(0, 20)) terminal.problem(`${name} was not sent: ${why}`);
  for (const line of drop.bundle ? [] : suggestion(waiting)) terminal.note(line);
  terminal.print(
    json
      ? JSON.stringify(result, null, 2)
      : resultText({ ...result, settle: drop.settle }, bytes, drop['dry-run']),
  );
  return stopping.signal.aborted ? { ...result, failed: ['interrupted'] } : result;
}

type SendOptions = Omit<Parameters<typeof dropFiles>[0], 'prefix' | 'files'>;

/** Plain files go last: a marker that closes the batch is one of them. */
async function send(
  options: SendOptions,
  { pipeline, bundles, plain }: Groups & { readonly pipeline: string },
): Promise<DroppedFiles> {
  const bundled = await dropBundles({ ...options, pipeline, bundles });
  const { files, bytes, failed } = await dropFiles({
    ...options,
    prefix: bucketKeys.incoming(pipeline),
    files: plain,
    onProgress: (done) =>
      options.onProgress({ files: bundled.files + done.files, bytes: bundled.bytes + done.bytes }),
  });
  return {
    files: bundled.files + files,
    bytes: bundled.bytes + bytes,
    failed: [...bundled.failed, ...failed],
  };
}

async function filesOf(folder: string, prefix: string) {
  const found = await filesBelow(folder).catch(() => {
    throw new UsageError([`DIR is "${folder}": there is no such folder`]);
  });
  const isLong = ({ name }: LocalFile) => Buffer.byteLength(prefix + name) > MOST_KEY_BYTES;
  return {
    files: found.files.filter((file) => !isLong(file)),
    skipped: [
      ...found.skipped,
      ...found.files
        .filter(isLong)
        .map(({ name }) => ({ name, why: `its key would have more than ${MOST_KEY_BYTES} bytes` })),
    ],
  };
}

interface Result extends Pick<Target, 'pipeline' | 'settle'> {
  readonly sent: DropProgress;
  readonly before: number;
  readonly left: number;
}

function resultText(
  { pipeline, settle, sent, before, left }: Result,
  bytes: number,
  dryRun: boolean,
): string {
  if (dryRun)
    return `${countText(left)} files, ${bytesText(bytes)}, would be sent to ${pipeline}; ${countText(before)} were sent before`;
  const earlier = before === 0 ? '' : `; ${countText(before)} were there from before`;
  const next =
    left > 0
      ? `\n${countText(left)} are left: the same command goes on`
      : sent.files === 0
        ? ''
        : `\nThe run begins to pack ${settle === undefined ? 'when nothing has arrived for a while' : settledText(settle)}: tidewheel watch ${pipeline}`;
  return `${countText(sent.files)} files, ${bytesText(sent.bytes)}, sent to ${pipeline}${earlier}${next}`;
}

const DRAWN_MILLISECONDS = 500;
/** In a log file. */
const WRITTEN_MILLISECONDS = 15_000;
/** The first files say little of the rate. */
const KNOWN_SECONDS = 3;

/** Rate and time left, now and then. */
class Meter {
  readonly #files: number;
  readonly #bytes: number;
  readonly #began = Date.now();
  readonly #pause: number;
  #shown: number;

  constructor(files: number, bytes: number, isDrawn: boolean) {
    this.#pause = isDrawn ? DRAWN_MILLISECONDS : WRITTEN_MILLISECONDS;
    this.#shown = isDrawn ? 0 : this.#began;
    this.#files = files;
    this.#bytes = bytes;
  }

  line({ files, bytes }: DropProgress): string | undefined {
    const now = Date.now();
    if (now - this.#shown < this.#pause) return undefined;
    this.#shown = now;
    const seconds = Math.max(0.001, (now - this.#began) / 1000);
    const rate = bytes / seconds;
    // Many small files are bound by their number, few large ones by their bytes.
    const share = Math.max(
      0.0001,
      Math.min(files / this.#files, this.#bytes === 0 ? 1 : bytes / this.#bytes),
    );
    const left = seconds < KNOWN_SECONDS ? '' : `, ${durationText(seconds / share - seconds)} left`;
    return `${countText(files)} of ${countText(this.#files)} files  ${bytesText(bytes)} of ${bytesText(this.#bytes)}  ${bytesText(Math.round(rate))}/s, ${Math.round(files / seconds)} files/s${left}`;
  }
}
