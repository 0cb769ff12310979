/** `tidewheel drop`: uploads a folder as arrivals, in parallel, and goes on where an earlier call was cut short. */

import { existsSync, statSync } from 'node:fs';
import path from 'node:path';
import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { readDeclaration } from '@tidewheel/declaration/read.ts';
import { UsageError } from '@tidewheel/kit/command-line.ts';
import { ConfigurationError } from '@tidewheel/kit/errors.ts';
import { wholeNumber } from '@tidewheel/kit/fields.ts';
import { checkFitsDataset } from '@tidewheel/packing/plan.ts';
import type { BlobStore } from '@tidewheel/packing/store.ts';
import { bytesText, durationText } from '../../client/amounts.ts';
import { isFinished } from '../../client/run-view.ts';
import type { Context } from '../command/context.ts';
import { declarationAt, type LocalDeclaration } from '../command/declared.ts';
import { EXIT } from '../command/exit.ts';
import { counted, countText } from '../command/format.ts';
import { DECLARATION_FILE, noSuchPipeline, pipelineMeant, type RunRow } from '../command/run-list.ts';
import { defineVerb, flag, option, type ValuesOf } from '../command/verb.ts';
import { withBucket } from '../dataset/open.ts';
import { openJournal } from '../serve/taken-files.ts';
import {
  type Applied,
  type ApplyOptions,
  appliedText,
  apply,
  changesTraining,
  storedDeclaration,
} from '../upload/apply.ts';
import { type Groups, groupFiles, groupingOf, suggestion } from '../upload/bundling.ts';
import { dropBundles } from '../upload/drop-bundles.ts';
import { type DropProgress, type DroppedFiles, dropFiles } from '../upload/drop-folder.ts';
import { dataFilesOf, type LocalFile } from '../upload/local-files.ts';
import { newestRun, runAfter } from '../watch/begin.ts';
import { type Settle, settledText, settleOf } from '../watch/settling.ts';
import { watchRun } from '../watch/watch-run.ts';

/** S3's limit of a key, in bytes of UTF-8. */
const MOST_KEY_BYTES = 1_024;

const options = {
  again: flag('also send what was sent before'),
  bundle: flag('send small files many in one object'),
  'dry-run': flag('say what would be sent'),
  keep: flag('leave declaration and code as they are there'),
  lanes: option('N', 'uploads at once (default 32)', wholeNumber(1, 256).default(32)),
  watch: flag('then show the run; its result is the exit code', 'w'),
};

type Values = ValuesOf<typeof options>;

export const verb = defineVerb({
  name: 'drop',
  summary: 'upload a folder of data; a run begins when it is complete',
  about: `
Files go to <pipeline>/incoming/ under their names in DIR (default: x-local.data of tidewheel.yaml). DIR may also be a
folder with a tidewheel.yaml, whose data is meant. A call that was killed goes on where it was; a file that has not
changed is not sent again. Declaration and code of the folder are taken first, as by tidewheel apply, and what differs
is printed; --keep leaves both as they are there, and prints what it left. A declaration that the dataset does not fit
is refused, and nothing is sent. Where no file is new, no run starts, and the exit code is 5.

With --bundle, files of up to 1 MiB go many in one object: a million files of 10 KB take a few hundred objects instead
of a million. They are packed as if each had come by itself.`,
  positionals: ['DIR?', 'PIPELINE?'],
  options,
  examples: [
    ['', 'the data of this folder, as tidewheel.yaml names it'],
    ['photos pets --watch', 'a folder for the pipeline pets'],
    ['photos --bundle', 'hundreds of thousands of small files'],
  ],
  run: async (asked, context) => {
    const { bucket } = await context.deployment();
    return withBucket(bucket, (store) => dropInto(context, store, asked));
  },
});

interface Asked {
  readonly values: Values;
  readonly positionals: readonly string[];
}

/** @returns the exit code */
export async function dropInto(
  context: Context,
  store: BlobStore,
  { values, positionals }: Asked,
): Promise<number> {
  const api = await context.api();
  const target = await targetOf(context, positionals);
  const found = await filesOf(target);
  const before = await newestRun(api, target.pipeline);
  const declared = await declare(context, { ...target, store, dryRun: values['dry-run'], keep: values.keep });
  const dropped = await dropAll(context, store, { ...target, ...declared, ...found, ...values });
  if (dropped.failed.length > 0) return EXIT.error;
  if (values['dry-run']) return EXIT.ok;
  if (dropped.sent.files === 0 && declared.applied?.wakes !== true) {
    context.terminal.note(nothingText(target.pipeline, declared.applied, before));
    return EXIT.nothingStarted;
  }
  if (context.json || !values.watch) return EXIT.ok;
  const runId = await runAfter({ api, terminal: context.terminal }, target.pipeline, before);
  return watchRun(context, runId, { exitStatus: true });
}

/** No file was sent, so that no run starts. A run of an earlier drop is named, and not followed. */
function nothingText(pipeline: string, applied: Applied | undefined, newest: RunRow | undefined): string {
  const how = applied !== undefined && changesTraining(applied) ? 'as it is declared now' : 'again';
  const open = newest !== undefined && !isFinished(newest);
  return [
    'nothing new, nothing started: no file of the data is new',
    `tidewheel run ${pipeline} --watch trains ${how} on the data that is there`,
    ...(open
      ? [`${newest.runId}, which began before, is ${newest.status}: tidewheel watch ${newest.runId}`]
      : []),
  ].join('\n');
}

interface Target {
  readonly folder: string;
  /** Files and folders below it that alone are data; undefined: all is. */
  readonly only: readonly string[] | undefined;
  readonly pipeline: string;
  /** The folder's declaration; undefined where the folder declares another pipeline or none. */
  readonly declaration: LocalDeclaration | undefined;
}

async function targetOf(context: Context, [named, given]: readonly string[]): Promise<Target> {
  const { project, dir } = placesOf(context, named, given);
  const here = hasDeclaration(project) ? await declarationAt(project) : undefined;
  const declared = given ?? here?.name;
  // Before a missing pipeline is reported: a folder misspelt is no folder with a declaration.
  if (dir !== undefined && !isFolder(dir)) throw noSuchFolder(dir, declared);
  const pipeline = declared ?? (await pipelineMeant(context, undefined));
  return {
    ...dataOf(here, dir, pipeline),
    pipeline,
    declaration: here?.name === pipeline ? here : undefined,
  };
}

function dataOf(
  here: LocalDeclaration | undefined,
  dir: string | undefined,
  pipeline: string,
): Pick<Target, 'folder' | 'only'> {
  const data = dir === undefined ? here?.data : { root: dir, only: undefined };
  if (data === undefined)
    throw new UsageError([
      `DIR is missing: name the folder with the data, or write it as x-local.data${withoutData(pipeline)}`,
    ]);
  return { folder: path.resolve(here?.folder ?? '', data.root), only: data.only };
}

/** Reinforcement learning, and a script that makes its data, need no drop. */
const withoutData = (pipeline = 'PIPELINE'): string =>
  `; a training without data is started by tidewheel apply, then tidewheel run ${pipeline} --watch`;

const isFolder = (place: string): boolean =>
  statSync(place, { throwIfNoEntry: false })?.isDirectory() === true;

const noSuchFolder = (folder: string, pipeline: string | undefined): UsageError =>
  new UsageError([`DIR is "${folder}": there is no such folder${withoutData(pipeline)}`]);

/** DIR is a folder of data, or one with a declaration, which names its data: a person may stand in the clone. */
function placesOf({ folder }: Context, dir: string | undefined, pipeline: string | undefined) {
  const named = dir === undefined ? undefined : path.resolve(folder, dir);
  const isProject = named !== undefined && pipeline === undefined && hasDeclaration(named);
  return isProject ? { project: named, dir: undefined } : { project: folder, dir: named };
}

/** One that cannot be read is an error, not a folder without one. */
const hasDeclaration = (folder: string): boolean => existsSync(path.join(folder, DECLARATION_FILE));

interface Declared {
  /** Undefined where the folder does not declare the pipeline. */
  readonly applied: Applied | undefined;
  /** Undefined where the stored declaration cannot be used. */
  readonly settle: Settle | undefined;
}

/** As the folder declares it, or as it is stored: a pipeline that is not declared packs and trains nothing. */
async function declare(
  context: Context,
  {
    folder,
    only,
    pipeline,
    declaration,
    store,
    dryRun,
    keep,
  }: Target & { readonly store: BlobStore; readonly dryRun: boolean; readonly keep: boolean },
): Promise<Declared> {
  const api = await context.api();
  const dropped = only === undefined ? { dropped: folder } : {};
  if (declaration === undefined || keep) {
    const stored = await storedDeclaration(api, pipeline);
    if (stored === undefined) throw await noSuchPipeline(api, pipeline);
    if (declaration !== undefined)
      context.terminal.note(await keptBack({ api, store, declaration, ...dropped, dryRun: true }));
    return { applied: undefined, settle: settleOf(stored) };
  }
  await refuseUnfit(store, declaration);
  const applied = await apply({ api, store, declaration, ...dropped, dryRun });
  if (changesTraining(applied)) context.terminal.note(appliedText(applied, dryRun));
  return { applied, settle: settleOf({ name: pipeline, declaration: declaration.text }) };
}

/** What --keep leaves out. A declaration that would be refused is no fault of a drop that does not take it. */
async function keptBack(options: ApplyOptions): Promise<string> {
  try {
    const applied = await apply(options);
    return changesTraining(applied) ? `not taken (--keep): ${appliedText(applied, true)}` : KEEPS_NOTHING;
  } catch (error: unknown) {
    if (!(error instanceof UsageError)) throw error;
    return `not taken (--keep): ${error.message}`;
  }
}

const KEEPS_NOTHING = '--keep leaves nothing out: declaration and code are as they are there';

/** The run would fail after all was sent. `apply` names what else is wrong with the declaration. */
async function refuseUnfit(store: BlobStore, { name, text, file }: LocalDeclaration): Promise<void> {
  const read = readDeclaration(name, text);
  if (!read.valid) return;
  try {
    await checkFitsDataset(store, { pipeline: name, packing: read.pipeline.packing });
  } catch (error: unknown) {
    if (!(error instanceof ConfigurationError)) throw error;
    throw new UsageError([`${path.basename(file)}: ${error.message}`]);
  }
}

type Drop = Target & Declared & Found & Asked['values'];

async function dropAll(context: Context, store: BlobStore, { files, skipped, ...drop }: Drop) {
  const { terminal, json } = context;
  const journal = await openJournal({
    environment: context.environment,
    of: [store.bucket, drop.pipeline, drop.folder],
  });
  const isWaiting = (file: LocalFile): boolean => drop.again || !journal.has(file);
  const waiting = files.filter(isWaiting);
  const groups = drop.bundle
    ? groupFiles(files, await groupingOf(context, { ...drop, bucket: store.bucket }))
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
    applied: drop.applied,
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

type Found = Awaited<ReturnType<typeof filesOf>>;

async function filesOf({ folder, only, pipeline }: Target) {
  const prefix = bucketKeys.incoming(pipeline);
  const found = await dataFilesOf(folder, only).catch(() => {
    if (only === undefined) throw noSuchFolder(folder, pipeline);
    throw new UsageError([`x-local.data names ${only.join(', ')} in ${folder}: not all of them are there`]);
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

interface Result extends Pick<Drop, 'pipeline' | 'settle'> {
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
    return `${counted(left, 'file')}, ${bytesText(bytes)}, would be sent to ${pipeline}; ${countText(before)} were sent before`;
  const earlier = before === 0 ? '' : `; ${countText(before)} were there from before`;
  const next =
    left > 0
      ? `\n${countText(left)} are left: the same command goes on`
      : sent.files === 0
        ? ''
        : `\nThe run begins to pack ${settle === undefined ? 'when nothing has arrived for a while' : settledText(settle)}: tidewheel watch ${pipeline}`;
  return `${counted(sent.files, 'file')}, ${bytesText(sent.bytes)}, sent to ${pipeline}${earlier}${next}`;
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
