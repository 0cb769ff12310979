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
import { defineVerb, flag, option } from '../command/verb.ts';
import { type DataFacts, placeText } from '../init/data.ts';
import { declarationText, type Project, readsFiles, toDo, whyUnpacked } from '../init/declaration.ts';
import { findData } from '../init/find-data.ts';
import { evaluationIn, readEvaluation } from '../init/find-evaluation.ts';
import { codeOf, type FoundLaunch, findLaunch, launchersIn } from '../init/find-launch.ts';
import { startOf } from '../init/find-script.ts';
import type { JobRow } from '../init/job.ts';
import { codeOfScript } from '../init/modules.ts';
import { declareJob } from '../init/parts.ts';
import { readScript } from '../init/script.ts';
import { type Start, startsIn } from '../init/start-lines.ts';
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
    'from-job': option(
      'JOB',
      'of a SageMaker training job: its name, or a .json of "aws sagemaker describe-training-job"',
      z.string().min(1, 'name a job, or a .json file').optional(),
    ),
    launch: option(
      'FILE',
      'the launch script, notebook or task; FILE:LINE for one of its jobs',
      z.string().min(1, 'name a file').optional(),
    ),
    name: option('NAME', "of the pipeline; default: the folder's", z.string().optional()),
    script: option('FILE', 'the training script, where several could be it', z.string().optional()),
    data: option('FOLDER', 'the data, where several folders could be it', z.string().optional()),
    force: flag(`replace a ${DECLARATION_FILE} that is there`),
  },
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
    const { folder: here, terminal, json } = context;
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
      terminal.print(nextText(project, path.relative(here, folder)));
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
export async function lookAt(
  folder: string,
  wishes: InitOptions,
  found: FoundLaunch | undefined,
): Promise<Project> {
  const files = await filesIn(folder);
  const names = files.map(({ name }) => name);
  const { start, source, script, dependencies } = await codeIn(folder, names, wishes.script, found);
  const places = [source, path.posix.join(source, path.posix.dirname(script ?? ''))];
  const required = await requirementsIn(folder, names, places);
  const { text, facts } = await scriptIn(
    { folder: path.join(folder, source), names: namesBelow(source, names) },
    { script, start, required: required.text },
  );
  const job = found && jobWith(found, { files: names, facts }, script);
  const data = await findData(folder, files, {
    wanted: wishes.data ?? job?.data,
    isOptional: job !== undefined,
    text,
  });
  return {
    name: wishes.name ?? nameOf(folder),
    source,
    script: script ?? programOf(start, found),
    facts,
    data,
    requirements: required.isList,
    dependencies,
    namesData: data?.named !== undefined && !facts.fills.some(({ what }) => what === 'data'),
    configs: namesBelow(source, names).filter((one) => CONFIG.test(one)),
    start,
    evaluation: await evaluationFor(path.join(folder, source), { names: namesBelow(source, names), script }),
    job,
  };
}

async function evaluationFor(
  folder: string,
  { names, script }: { readonly names: readonly string[]; readonly script: string | undefined },
) {
  const name = evaluationIn(names, script);
  return name === undefined
    ? undefined
    : readEvaluation(name, await readFile(path.join(folder, name), 'utf8'));
}

const programOf = (start: Start | undefined, found: FoundLaunch | undefined): string =>
  start?.from ?? found?.job.entryPoint ?? 'train.py';

/** The code of the job that was found, unless a person names a script. */
async function codeIn(
  folder: string,
  names: readonly string[],
  wanted: string | undefined,
  found: FoundLaunch | undefined,
) {
  if (found !== undefined && wanted === undefined)
    return { ...codeOf(found.job, found.file, names), start: undefined };
  const start = await asStartedIn(folder, names, await startOf(folder, names, wanted));
  return { source: '.', script: start.script, dependencies: [], start };
}

/** A script without arguments gets those of the only line of a shell script, Makefile or the like that starts it. */
async function asStartedIn(folder: string, names: readonly string[], start: Start): Promise<Start> {
  const { script, module, command, arguments: given } = start;
  if (script === undefined || (module ?? command ?? given) !== undefined) return start;
  const [line, ...others] = (await startsIn(folder, names)).filter(
    (one) => one.script === script && one.command === undefined && one.arguments?.length,
  );
  return line === undefined || others.length > 0 ? start : line;
}

const CONFIG =
  /^((configs?|conf)\/)?(?!tidewheel|pyproject)[\w.-]*(config|train|default)[\w.-]*\.(json|ya?ml|toml)$/;

const namesBelow = (source: string, names: readonly string[]): readonly string[] =>
  source === '.'
    ? names
    : names.flatMap((name) => (name.startsWith(`${source}/`) ? name.slice(source.length + 1) : []));

/** What says which packages pip installs. */
async function requirementsIn(folder: string, names: readonly string[], places: readonly string[]) {
  const among = (file: string): readonly string[] =>
    places.map((place) => path.posix.join(place, file)).filter((name) => names.includes(name));
  const lists = among('requirements.txt');
  const files = [...lists.slice(0, 1), ...among('pyproject.toml'), ...among('setup.py')];
  const texts = await Promise.all(files.map((name) => readFile(path.join(folder, name), 'utf8')));
  return { isList: lists.length > 0, text: texts.join('\n') };
}

interface ToRead {
  readonly script: string | undefined;
  readonly start: Start | undefined;
  readonly required: string;
}

async function scriptIn(
  { folder, names }: { readonly folder: string; readonly names: readonly string[] },
  { script, start, required }: ToRead,
) {
  // Of one that is not here nothing is known.
  if (script === undefined) {
    const facts = { ...readScript('', required), saves: true, packages: lacking(start?.packages, required) };
    const text = start === undefined ? '' : await readFile(path.join(folder, start.from), 'utf8');
    // Words of a shell or of YAML have no quotes.
    return { text: text.replaceAll(/[\w.-]+(\/[\w.-]+)+/g, '"$&"'), facts };
  }
  const code = await codeOfScript(folder, names, script);
  const text = script.endsWith('.ipynb') ? cellsOf(code.text) : code.text;
  const facts = readScript(text, required);
  const packages = facts.packages.filter((name) => !code.own.has(name.replaceAll('-', '_')));
  return {
    text,
    facts: { ...facts, packages: lacking([...packages, ...(start?.packages ?? [])], required) },
  };
}

/** Those that nothing names. */
const lacking = (packages: readonly string[] = [], required: string): readonly string[] =>
  packages.filter(
    (name) => !new RegExp(`(^|[^\\w-])${name.replaceAll('-', '[-_]')}($|[^\\w-])`, 'im').test(required),
  );

/** The code of a notebook. */
function cellsOf(text: string): string {
  try {
    const { cells } = notebook.parse(JSON.parse(text));
    return cells.map(({ source }) => [source].flat().join('')).join('\n');
  } catch {
    return text;
  }
}

const notebook = z.object({
  cells: z.array(z.object({ source: z.union([z.string(), z.array(z.string())]) })),
});

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

/** The framework and the strategy, as they are declared. */
function trainedBy({ facts, start, job }: Project): string {
  const { framework, strategy } = { ...facts, ...job?.training };
  return `${String(framework)}, ${String(job === undefined ? (start?.strategy ?? strategy) : strategy)}`;
}

function reportOf(project: Project, file: string): string {
  const { name, data, job } = project;
  // Files that are not packed are left as they are.
  const layout = whyUnpacked(project) === undefined ? data?.layout : undefined;
  return [
    `wrote ${file}: the pipeline ${name}`,
    `  script  ${programText(project)}${startText(project)} (${trainedBy(project)})${filledText(project)}`,
    data === undefined
      ? `  data    ${job?.data === undefined ? 'none was found' : `${job.data}/ is not here yet`}`
      : dataText(data, job !== undefined),
    ...(layout?.notes ?? []).map(({ text }) => `  found   ${text}`),
    ...(layout?.remedies ?? []).map((text) => `  to do   ${text}`),
    ...(readsFiles(project)
      ? ['  reads   the files of its sealed version: none that packing rejects or that comes later']
      : []),
    ...toDo(project).map((line) => `  to do   ${line}`),
  ].join('\n');
}

const programText = ({ source, script, job }: Project): string =>
  job?.training['command'] === undefined ? path.posix.join(source, script) : 'a command';

/** Where another file starts it. */
const startText = ({ start, script }: Project): string =>
  start === undefined
    ? ''
    : start.command !== undefined
      ? `, started by ${start.command.join(' ')}`
      : start.from === script
        ? ''
        : `, as ${start.from} starts it`;

/** A job gives its script no other arguments than hyperparameters. */
function filledText({ facts, job }: Project): string {
  const fills = facts.fills
    .filter(({ what }) => what === 'data' || what === 'checkpoints' || what === 'model')
    .map(({ argument, what }) => `${argument} for the ${what}`);
  return job !== undefined || fills.length === 0 ? '' : `: ${fills.join(', ')}`;
}

const dataText = (data: DataFacts, ofJob: boolean): string =>
  `  data    ${placeText(data)}: ${data.files} ${data.kind}${dataLabels(data.labels, ofJob)}`;

const dataLabels = (labels: readonly string[], ofJob: boolean): string =>
  `${labels.length === 0 || ofJob ? '' : ` with ${labels.length} labels`}`;

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

/** @param folder of the project, from where the person stands; empty where they stand in it */
function nextText({ name, data, job }: Project, folder: string): string {
  const word = /^[\w./][\w./-]*$/.test(folder) ? folder : shellQuote(folder);
  const ofFolder = (named: string): string => `tidewheel ${named}${folder === '' ? '' : ` ${word}`}`;
  const send: (readonly [string, string])[] =
    data === undefined && job?.data === undefined
      ? [
          [ofFolder('apply'), 'declares the pipeline, sends the code'],
          [
            `tidewheel run ${name}`,
            `trains ${job?.training['channels'] === undefined ? 'without data' : 'on what is in S3'}; with data: tidewheel drop FOLDER`,
          ],
        ]
      : [[ofFolder('drop'), 'declares the pipeline, sends code and data']];
  const width = Math.max(...send.map(([command]) => command.length), `tidewheel watch ${name}`.length);
  const line = (command: string, about: string) => `  ${command.padEnd(width)}  ${about}`;
  return [
    '',
    'Read it, then:',
    line(
      'tidewheel up',
      'in another terminal: a region on this machine; or name a stack on AWS with --stage',
    ),
    ...send.map(([command, about]) => line(command, about)),
    line(`tidewheel watch ${name}`, 'until the model is there'),
  ].join('\n');
}
