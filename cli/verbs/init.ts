/** `tidewheel init`: writes a declaration from what lies in a folder. */

import { readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pipelineNameProblem } from '@tidewheel/declaration/pipeline.ts';
import { readDeclaration } from '@tidewheel/declaration/read.ts';
import { UsageError } from '@tidewheel/kit/command-line.ts';
import { problemText } from '@tidewheel/kit/errors.ts';
import { shellQuote } from '@tidewheel/kit/shell-quote.ts';
import * as z from 'zod';
import type { Context, Surroundings } from '../command/context.ts';
import { safe, tableText } from '../command/format.ts';
import { DECLARATION_FILE } from '../command/run-list.ts';
import { defineVerb } from '../command/verb.ts';
import { type DataFacts, dataIn, withLayout } from '../init/data.ts';
import { declarationText, type Project, readsFiles, toDo } from '../init/declaration.ts';
import { codeOf, type FoundLaunch, findLaunch, launchersIn } from '../init/find-launch.ts';
import type { JobRow } from '../init/job.ts';
import { localTables } from '../init/layout-notes.ts';
import { declareJob } from '../init/parts.ts';
import { namesFolder, readScript, type ScriptFacts } from '../init/script.ts';
import type { Proposal } from '../try/declared.ts';
import { dataFilesBelow, type LocalFile } from '../upload/local-files.ts';

export const verb = defineVerb({
  name: 'init',
  summary: 'write a declaration from what lies in a folder: script, requirements, data',
  about: `
A launch.py or notebook that uses the SageMaker SDK or boto3, or a SkyPilot task, is read, never run: the job that it
starts becomes the declaration, and what differs is printed field by field (docs/from-sagemaker.md).`,
  deployment: 'none',
  positionals: ['FOLDER?'],
  options: {
    'from-job': {
      type: 'string',
      value: 'JOB',
      about: 'of a SageMaker training job: its name, or a .json of "aws sagemaker describe-training-job"',
    },
    launch: {
      type: 'string',
      value: 'FILE',
      about: 'the launch script, notebook or task; FILE:LINE for one of its jobs',
    },
    name: { type: 'string', value: 'NAME', about: "of the pipeline; default: the folder's" },
    script: { type: 'string', value: 'FILE', about: 'the training script, where several could be it' },
    data: { type: 'string', value: 'FOLDER', about: 'the data, where several folders could be it' },
    force: { type: 'boolean', about: `replace a ${DECLARATION_FILE} that is there` },
  },
  schema: z.object({
    'from-job': z.string().min(1, 'name a job, or a .json file').optional(),
    launch: z.string().min(1, 'name a file').optional(),
    name: z.string().optional(),
    script: z.string().optional(),
    data: z.string().optional(),
    force: z.boolean().default(false),
  }),
  check: (_, values) => {
    const problem = values?.name === undefined ? undefined : pipelineNameProblem(values.name);
    return problem === undefined ? [] : [`--name is "${values?.name}": ${problem}`];
  },
  examples: [
    ['', 'of this folder'],
    ['my-training --script src/train.py --data images', 'where there are several'],
    ['my-training --from-job churn-2026-11-25-10-00-00-123', 'as that SageMaker job, with its code'],
  ],
  run: async ({ values, positionals: [given = '.'] }, context) => {
    const { folder: here, environment, terminal, json } = context;
    const folder = path.resolve(here, given);
    const file = path.join(folder, DECLARATION_FILE);
    await refuseExisting(file, values.force);
    const found = await jobIn(folder, values, context);
    const project = await lookAt(folder, values, found);
    const required = await writeRequirements(folder, project, found?.job.requirements ?? []);
    const text = declarationText(project);
    const read = readDeclaration(project.name, text);
    await writeFile(file, text, { flag: values.force ? 'w' : 'wx' });
    const problems = read.valid ? [] : read.problems.map(problemText);
    if (json) terminal.print(JSON.stringify({ file, ...project, problems }, null, 2));
    else {
      terminal.print(reportOf(project, path.relative(here, file)));
      if (required !== undefined) terminal.print(required);
      if (project.job !== undefined) terminal.print(differenceText(project.job.origin, project.job.rows));
      for (const problem of problems) terminal.problem(`${DECLARATION_FILE}: ${problem}`);
      terminal.print(nextText(project, { folder: path.relative(here, folder), environment }));
    }
    return 0;
  },
});

/** For a source that has none. */
async function writeRequirements(
  folder: string,
  { source, requirements }: Project,
  lines: readonly string[],
): Promise<string | undefined> {
  if (lines.length === 0) return undefined;
  const name = path.posix.join(source, 'requirements.txt');
  if (requirements) return `  to do   ${name} is there: see that it has ${lines.join(', ')}`;
  await writeFile(path.join(folder, name), `${lines.join('\n')}\n`, { flag: 'wx' });
  return `  wrote   ${name}: ${lines.join(', ')}`;
}

/** What `init` would write. @throws UsageError where a person has to say which script is meant */
export async function proposedFor(
  folder: string,
  script: string | undefined,
  surroundings: Pick<Surroundings, 'environment' | 'clone'> = { environment: {}, clone: undefined },
): Promise<Proposal> {
  const project = await lookAt(folder, { script }, await launchIn(folder, { script }, surroundings));
  return { project, text: declarationText(project) };
}

interface InitOptions {
  readonly name?: string | undefined;
  readonly script?: string | undefined;
  readonly data?: string | undefined;
  readonly launch?: string | undefined;
  readonly 'from-job'?: string | undefined;
}

const filesIn = async (folder: string): Promise<readonly LocalFile[]> => {
  const { files } = await dataFilesBelow(folder).catch(() => {
    throw new UsageError([`FOLDER is "${folder}": there is no such folder`]);
  });
  return files;
};

/** @throws UsageError where a person has to say which is meant */
async function lookAt(folder: string, wishes: InitOptions, found: FoundLaunch | undefined): Promise<Project> {
  const files = await filesIn(folder);
  const names = files.map(({ name }) => name);
  const { source, script, dependencies } =
    found === undefined || wishes.script !== undefined
      ? { source: '.', script: await scriptOf(folder, names, wishes.script), dependencies: [] }
      : codeOf(found.job, found.file, names);
  const { text, facts } = await scriptIn(path.join(folder, source), script);
  const job = found && jobWith(found, { files: names, facts }, script);
  const data = await laidOut(folder, files, dataOf(names, wishes.data ?? job?.data, job !== undefined));
  return {
    name: wishes.name ?? nameOf(folder),
    source,
    script: script ?? found?.job.entryPoint ?? 'train.py',
    facts,
    data,
    requirements: [source, path.posix.join(source, path.posix.dirname(script ?? ''))].some((place) =>
      names.includes(path.posix.join(place, 'requirements.txt')),
    ),
    dependencies,
    namesData: data !== undefined && readsByName(text, facts, data),
    job,
  };
}

async function scriptIn(source: string, script: string | undefined): Promise<Script> {
  // Of one that is not here nothing is known.
  if (script === undefined) return { text: '', facts: { ...readScript(''), saves: true } };
  const text = await readFile(path.join(source, script), 'utf8');
  return { text, facts: readScript(text) };
}

interface Script {
  readonly text: string;
  readonly facts: ScriptFacts;
}

/** No argument says where the data is. */
const readsByName = (text: string, { fills }: ScriptFacts, { folder }: DataFacts): boolean =>
  fills.every(({ what }) => what !== 'data') && namesFolder(text, folder);

const jobWith = (
  { job }: FoundLaunch,
  around: Parameters<typeof declareJob>[1],
  script: string | undefined,
) =>
  script === undefined
    ? declareJob(job, { ...around, facts: undefined })
    : declareJob({ ...job, entryPoint: script }, around);

/** The SageMaker job that the folder, or the person, speaks of. */
async function jobIn(
  folder: string,
  wishes: InitOptions,
  context: Context,
): Promise<FoundLaunch | undefined> {
  const named = wishes['from-job'];
  if (named === undefined) return launchIn(folder, wishes, context);
  // The SDK of AWS takes a while to load.
  const { describedJob, withSource } = await import('../init/described.ts');
  return { file: '', job: await withSource(await describedJob(named, context), folder, context) };
}

async function launchIn(
  folder: string,
  { script, launch }: InitOptions,
  surroundings: Pick<Surroundings, 'environment' | 'clone'>,
): Promise<FoundLaunch | undefined> {
  if (script !== undefined && launch === undefined) return undefined;
  const names = (await filesIn(folder)).map(({ name }) => name);
  return findLaunch({ folder, names }, await launchersIn({ folder, names }), launch, surroundings);
}

const USUAL = ['train.py', 'main.py', 'finetune.py', 'run.py'];
const TRAINS =
  /\b(optimizer|epochs?|SM_CHANNEL_\w+|SM_MODEL_DIR)\b|\.backward\(|\.fit\(|\bxgb\.train\(|Trainer\(/;

async function scriptOf(
  folder: string,
  names: readonly string[],
  wanted: string | undefined,
): Promise<string> {
  const scripts = names.filter((name) => name.endsWith('.py'));
  if (wanted !== undefined) {
    const name = path.posix.normalize(wanted);
    if (scripts.includes(name)) return name;
    throw new UsageError([
      `--script is "${wanted}", which is no .py file of ${folder}: name one of ${scripts.slice(0, 5).join(', ') || 'those that are there'}`,
    ]);
  }
  const usual = USUAL.find((name) => scripts.includes(name));
  if (usual !== undefined) return usual;
  const launchers = await launchersIn({ folder, names });
  const others = scripts.filter((name) => !launchers.includes(name)).slice(0, 200);
  const training: string[] = [];
  for (const name of others)
    if (TRAINS.test(await readFile(path.join(folder, name), 'utf8'))) training.push(name);
  const [only, other] = training;
  if (only !== undefined && other === undefined) return only;
  throw new UsageError([
    only === undefined
      ? `no training script was found in ${folder}: name it with --script. ${lookedAt(others, launchers)}`
      : `several scripts train (${training.slice(0, 5).join(', ')}): name one with --script`,
  ]);
}

/** Why none of them was taken. */
function lookedAt(others: readonly string[], launchers: readonly string[]): string {
  const some = (names: readonly string[]) =>
    `${names.slice(0, 10).join(', ')}${names.length > 10 ? ', …' : ''}`;
  return [
    others.length === 0
      ? 'There is no .py file'
      : `Looked at ${some(others)}: none has an optimizer, epochs, .fit(, .backward(, Trainer(, SM_CHANNEL_… or SM_MODEL_DIR`,
    ...(launchers.length === 0
      ? []
      : [`${some(launchers)} starts a SageMaker job, and trains nothing itself`]),
  ].join('; ');
}

/** The folder at the top with the most files of data. */
function dataOf(
  names: readonly string[],
  wanted: string | undefined,
  isOptional: boolean,
): DataFacts | undefined {
  // A job says where its data is: another folder may have pictures of a notebook, or the code.
  if (isOptional && wanted === undefined) return undefined;
  const tops =
    wanted === undefined
      ? [...new Set(names.flatMap((name) => topOf(name)))]
      : [path.posix.normalize(wanted).replace(/\/$/, '')];
  const found = tops.flatMap((top) => {
    const below = names
      .filter((name) => name.startsWith(`${top}/`))
      .map((name) => name.slice(top.length + 1));
    return dataIn(top, below) ?? [];
  });
  const [most] = found.toSorted((a, b) => b.files - a.files);
  if (most !== undefined || wanted === undefined || isOptional) return most;
  throw new UsageError([`--data is "${wanted}": no data was found there`]);
}

/** The folder's files by their keys. */
async function laidOut(
  folder: string,
  files: readonly LocalFile[],
  data: DataFacts | undefined,
): Promise<DataFacts | undefined> {
  if (data === undefined) return undefined;
  const below = files.flatMap(({ name, size }) =>
    name.startsWith(`${data.folder}/`) ? [{ key: name.slice(data.folder.length + 1), size }] : [],
  );
  const beside = files.map(({ name }) => name);
  return withLayout(localTables(path.join(folder, data.folder)), data, { files: below, beside });
}

const topOf = (name: string): string[] => (name.includes('/') ? [name.slice(0, name.indexOf('/'))] : []);

function nameOf(folder: string): string {
  const name = path
    .basename(folder)
    // Of ö, the o.
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, 32)
    .replaceAll(/^-+|-+$/g, '');
  return pipelineNameProblem(name) === undefined ? name : 'training';
}

async function refuseExisting(file: string, force: boolean): Promise<void> {
  if (!force && (await stat(file).catch(() => undefined)) !== undefined)
    throw new UsageError([`${file} is there: change it, or write it again with --force`]);
}

function reportOf(project: Project, file: string): string {
  const { name, facts, data, job } = project;
  const { framework, strategy } = { ...facts, ...job?.training };
  return [
    `wrote ${file}: the pipeline ${name}`,
    `  script  ${programText(project)} (${String(framework)}, ${String(strategy)})${filledText(project)}`,
    data === undefined
      ? `  data    ${job?.data === undefined ? 'none was found' : `${job.data}/ is not here yet`}`
      : dataText(data, job !== undefined),
    ...(data?.layout?.notes ?? []).map(({ text }) => `  found   ${text}`),
    ...(data?.layout?.remedies ?? []).map((text) => `  to do   ${text}`),
    ...(readsFiles(project)
      ? ['  reads   the files of its sealed version: none that packing rejects or that comes later']
      : []),
    ...toDo(project).map((line) => `  to do   ${line}`),
  ].join('\n');
}

const programText = ({ source, script, job }: Project): string =>
  job?.training['command'] === undefined ? path.posix.join(source, script) : 'a command';

/** A job gives its script no other arguments than hyperparameters. */
function filledText({ facts, job }: Project): string {
  const fills = facts.fills
    .filter(({ what }) => what !== 'resume')
    .map(({ argument, what }) => `${argument} for the ${what}`);
  return job !== undefined || fills.length === 0 ? '' : `: ${fills.join(', ')}`;
}

const dataText = ({ folder, files, kind, labels }: DataFacts, ofJob: boolean): string =>
  `  data    ${folder}/: ${files} ${kind}${labels.length === 0 || ofJob ? '' : ` with ${labels.length} labels`}`;

const VERDICTS = {
  same: 'the same here',
  better: 'better here',
  cannot: 'not taken',
  unread: 'to do: has its value only when the script runs',
} as const satisfies Record<JobRow['verdict'], string>;

/** Field by field: what the job had, and what stands for it. */
function differenceText(origin: string, rows: readonly JobRow[]): string {
  const groups = (['same', 'better', 'cannot', 'unread'] as const).flatMap((verdict) => {
    const lines = rows
      .filter((row) => row.verdict === verdict)
      .map(({ theirs, value, ours, why }) => [
        `    ${theirs}`,
        safe(value),
        [ours, why].filter(Boolean).join(': '),
      ]);
    return lines.length === 0 ? [] : [`  ${VERDICTS[verdict]}`, tableText(lines)];
  });
  return ['', `What ${origin} has:`, ...groups].join('\n');
}

interface Standing {
  /** Of the project, from where the person stands; empty where they stand in it. */
  readonly folder: string;
  readonly environment: Context['environment'];
}

/** As the person can type it where they stand: elsewhere npx knows no tidewheel. */
function nextText({ name, data, job }: Project, { folder, environment }: Standing): string {
  const program = environment['npm_command'] === 'exec' ? 'npx tidewheel' : 'tidewheel';
  const word = /^[\w./][\w./-]*$/.test(folder) ? folder : shellQuote(folder);
  const ofFolder = (named: string): string => `${program} ${named}${folder === '' ? '' : ` ${word}`}`;
  const send: (readonly [string, string])[] =
    data === undefined && job?.data === undefined
      ? [
          [ofFolder('apply'), 'declares the pipeline, sends the code'],
          [
            `${program} run ${name}`,
            `trains ${job?.training['channels'] === undefined ? 'without data' : 'on what is in S3'}; with data: tidewheel drop FOLDER`,
          ],
        ]
      : [[ofFolder('drop'), 'declares the pipeline, sends code and data']];
  const width = Math.max(...send.map(([command]) => command.length), `${program} watch ${name}`.length);
  const line = (command: string, about: string) => `  ${command.padEnd(width)}  ${about}`;
  return [
    '',
    'Read it, then:',
    line(
      `${program} up`,
      'in another terminal: a region on this machine; or name a stack on AWS with --stage',
    ),
    ...send.map(([command, about]) => line(command, about)),
    line(`${program} watch ${name}`, 'until the model is there'),
  ].join('\n');
}
