/** `tidewheel check`: what would fail, before it costs anything: of a declaration, of the deployment, and by a first trial. */

import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { frameworkProblem } from '@tidewheel/catalog/images.ts';
import { entryPointOf, type Pipeline, readingHints } from '@tidewheel/declaration/pipeline.ts';
import { readDeclaration } from '@tidewheel/declaration/read.ts';
import { UsageError } from '@tidewheel/kit/command-line.ts';
import { messageOf, type Problem, problemText } from '@tidewheel/kit/errors.ts';
import { checkDeployment } from '../../functions/check/check-deployment.ts';
import type { Finding } from '../../functions/check/finding.ts';
import type { Context } from '../command/context.ts';
import { declarationAt, declarationFile } from '../command/declared.ts';
import { EXIT } from '../command/exit.ts';
import { DECLARATION_FILE, pipelineHere } from '../command/run-list.ts';
import type { Terminal } from '../command/terminal.ts';
import { defineVerb, flag } from '../command/verb.ts';
import { formatFindings } from '../deployment/format-findings.ts';
import { openDeployment } from '../deployment/open-deployment.ts';
import { checkHosts, playTrial, TRIAL_MOST_USD, TRIAL_OPTIONS } from '../first-day/trial.ts';
import { notesOf } from '../init/layout-notes.ts';
import { readScript } from '../init/script.ts';
import { dataFilesOf } from '../upload/local-files.ts';

export const verb = defineVerb({
  name: 'check',
  summary: 'list what would fail in a first run, each with its remedy',
  about: `
With FILE (or its folder) it checks a declaration alone, with what it makes of the data beside it, and needs no
deployment. Without, it checks tidewheel.yaml of
this folder if it is there, then the stack and the declared pipelines: quotas, concurrency, roles, networks, images,
secrets, the path of arrivals. It changes nothing but one test object, which it removes. With --trial it plays the first
hour on a real account (docs/first-day.md), for at most $${TRIAL_MOST_USD.toFixed(2)}: each step says what it proves, asks before it
pays, and removes what it made. A second start goes on.`,
  positionals: ['FILE?'],
  options: {
    'read-only': flag('put no test object'),
    trial: flag('play the first hour, step by step'),
    ...TRIAL_OPTIONS,
  },
  check: (_, values) => (values === undefined ? [] : checkHosts(values)),
  examples: [
    ['tidewheel.yaml', 'a declaration, without a deployment'],
    ['--stage prod', 'the whole deployment'],
    ['--stage first --trial --dry-run', 'the steps of a trial and what they cost'],
  ],
  run: async ({ values, positionals: [file] }, context) => {
    if (values.trial) return playTrial(values, context);
    const named = file ?? (await declaredHere(context.folder));
    const declaration =
      named === undefined ? undefined : await checkFile(await declarationFile(context.folder, named));
    if (declaration !== undefined && !context.json) show(declaration, context.terminal);
    const findings = file === undefined ? await findingsOf(context, values['read-only']) : [];
    if (context.json) context.terminal.print(JSON.stringify({ declaration, findings }, undefined, 2));
    else if (file === undefined) context.terminal.print(formatFindings(findings));
    const isWell = declaration?.valid !== false && findings.every(({ kind }) => kind !== 'fails');
    return isWell ? EXIT.ok : EXIT.error;
  },
});

const declaredHere = async (folder: string): Promise<string | undefined> =>
  (await pipelineHere(folder)) === undefined ? undefined : DECLARATION_FILE;

interface CheckedFile {
  readonly file: string;
  readonly pipeline: string;
  readonly valid: boolean;
  readonly problems: readonly Problem[];
  /** Valid settings that the usual reader of the format cannot read. */
  readonly hints: readonly string[];
  /** What it makes of the data that its x-local names. */
  readonly data: readonly string[];
}

/** @throws UsageError where it cannot be read */
async function checkFile(file: string): Promise<CheckedFile> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new UsageError([
      `FILE is "${file}", which cannot be read (${messageOf(error)}): name a declaration`,
    ]);
  });
  const pipeline = (await pipelineHere(path.dirname(file), path.basename(file))) ?? path.parse(file).name;
  const read = readDeclaration(pipeline, text);
  if (!read.valid) return { file, pipeline, valid: false, problems: read.problems, hints: [], data: [] };
  const problem = frameworkProblem(read.pipeline);
  if (problem !== undefined)
    return { file, pipeline, valid: false, problems: [problem], hints: [], data: [] };
  const hints = [...readingHints(read.pipeline), ...(await channelHints(file, read.pipeline))];
  return { file, pipeline, valid: true, problems: [], hints, data: await dataBeside(file, read.pipeline) };
}

/** A channel that is not there is found missing on a host, which costs money. */
async function channelHints(file: string, { training, packing }: Pipeline): Promise<readonly string[]> {
  const script = entryPointOf(training);
  const { folder, source } = await declarationAt(path.dirname(file), file);
  const text = script && (await readFile(path.join(folder, source, script), 'utf8').catch(() => undefined));
  if (!text) return [];
  const given = ['train', ...Object.keys(training.channels ?? {}), ...Object.keys(packing.split ?? {})];
  return readScript(text)
    .channels.filter((name) => !given.some((each) => each.toLowerCase() === name))
    .map(
      (name) =>
        `${script} reads SM_CHANNEL_${name.toUpperCase()}, and no channel ${name} is declared in training.channels`,
    );
}

/** Empty where the declaration names no folder of data, or none is there. */
async function dataBeside(file: string, { packing }: Pipeline): Promise<readonly string[]> {
  const { folder, data } = await declarationAt(path.dirname(file), path.basename(file)).catch(() => ({
    folder: '',
    data: undefined,
  }));
  if (data === undefined) return [];
  const below = path.join(folder, data.root);
  const found = await dataFilesOf(below, data.only).catch(() => undefined);
  if (found === undefined || found.files.length === 0) return [];
  const keys = found.files.map(({ name, size }) => ({ key: name, size }));
  const { notes, remedies } = await notesOf(below, packing, keys);
  return [
    `${data.only?.join(', ') ?? `${data.root}/`}: ${keys.length} files`,
    ...notes.map(({ field, text }) => `packing.${field}: ${text}`),
    ...remedies.map((text) => `to do: ${text}`),
  ];
}

function show(
  { file, pipeline, valid, problems, hints, data }: CheckedFile,
  { print, problem }: Terminal,
): void {
  const name = path.basename(file);
  if (valid) print(`✓ ${name} declares ${pipeline}, and is valid`);
  for (const each of problems) problem(`${name}: ${problemText(each)}`);
  for (const hint of hints) print(`  note: ${hint}`);
  for (const line of data) print(`  ${line}`);
}

async function findingsOf(context: Context, readOnly: boolean): Promise<readonly Finding[]> {
  const { testObject, ...deployment } = await openDeployment(await context.deployment());
  return checkDeployment({
    ...deployment,
    testObject: readOnly ? undefined : { id: randomUUID(), ...testObject },
  });
}
