/** `tidewheel init`: writes a declaration from what lies in a folder. */

import { readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pipelineNameProblem } from '@tidewheel/declaration/pipeline.ts';
import { readDeclaration } from '@tidewheel/declaration/read.ts';
import { UsageError } from '@tidewheel/kit/command-line.ts';
import { problemText } from '@tidewheel/kit/errors.ts';
import { shellQuote } from '@tidewheel/kit/shell-quote.ts';
import * as z from 'zod';
import type { Context } from '../command/context.ts';
import { DECLARATION_FILE } from '../command/run-list.ts';
import { defineVerb } from '../command/verb.ts';
import { type DataFacts, dataIn, withLayout } from '../init/data.ts';
import { declarationText, type Project, readsFiles, toDo } from '../init/declaration.ts';
import { localTables } from '../init/layout-notes.ts';
import { namesFolder, readScript } from '../init/script.ts';
import type { Proposal } from '../try/declared.ts';
import { dataFilesBelow, type LocalFile } from '../upload/local-files.ts';

export const verb = defineVerb({
  name: 'init',
  summary: 'write a declaration from what lies in a folder: script, requirements, data',
  deployment: 'none',
  positionals: ['FOLDER?'],
  options: {
    name: { type: 'string', value: 'NAME', about: "of the pipeline; default: the folder's" },
    script: { type: 'string', value: 'FILE', about: 'the training script, where several could be it' },
    data: { type: 'string', value: 'FOLDER', about: 'the data, where several folders could be it' },
    force: { type: 'boolean', about: `replace a ${DECLARATION_FILE} that is there` },
  },
  schema: z.object({
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
  ],
  run: async ({ values, positionals: [given = '.'] }, { folder: here, environment, terminal, json }) => {
    const folder = path.resolve(here, given);
    const project = await lookAt(folder, values);
    const text = declarationText(project);
    const read = readDeclaration(project.name, text);
    if (!read.valid)
      throw new Error(
        `the declaration of ${folder} is not valid: ${read.problems.map(problemText).join('; ')}`,
      );
    const file = path.join(folder, DECLARATION_FILE);
    await write(file, text, values.force);
    if (json) terminal.print(JSON.stringify({ file, ...project }, null, 2));
    else {
      terminal.print(reportOf(project, path.relative(here, file)));
      terminal.print(nextText(project, { folder: path.relative(here, folder), environment }));
    }
    return 0;
  },
});

/** What `init` would write. @throws UsageError where a person has to say which script is meant */
export async function proposedFor(folder: string, script: string | undefined): Promise<Proposal> {
  const project = await lookAt(folder, { script });
  return { project, text: declarationText(project) };
}

interface InitOptions {
  readonly name?: string | undefined;
  readonly script?: string | undefined;
  readonly data?: string | undefined;
}

/** @throws UsageError where a person has to say which is meant */
async function lookAt(folder: string, wishes: InitOptions): Promise<Project> {
  const { files } = await dataFilesBelow(folder).catch(() => {
    throw new UsageError([`FOLDER is "${folder}": there is no such folder`]);
  });
  const names = files.map(({ name }) => name);
  const script = await scriptOf(folder, names, wishes.script);
  const text = await readFile(path.join(folder, script), 'utf8');
  const facts = readScript(text);
  const data = await laidOut(folder, files, dataOf(names, wishes.data));
  return {
    name: wishes.name ?? nameOf(folder),
    script,
    facts,
    data,
    requirements: names.includes('requirements.txt'),
    namesData:
      data !== undefined &&
      facts.fills.every(({ what }) => what !== 'data') &&
      namesFolder(text, data.folder),
  };
}

const USUAL = ['train.py', 'main.py', 'finetune.py', 'run.py'];
const TRAINS = /\b(optimizer|\.backward\(|\.fit\(|Trainer\(|epochs?)\b/;

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
  const training: string[] = [];
  for (const name of scripts.slice(0, 200))
    if (TRAINS.test(await readFile(path.join(folder, name), 'utf8'))) training.push(name);
  const [only, other] = training;
  if (only !== undefined && other === undefined) return only;
  throw new UsageError([
    only === undefined
      ? `no training script was found in ${folder}: name it with --script`
      : `several scripts train (${training.slice(0, 5).join(', ')}): name one with --script`,
  ]);
}

/** The folder at the top with the most files of data. */
function dataOf(names: readonly string[], wanted: string | undefined): DataFacts | undefined {
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
  if (most !== undefined || wanted === undefined) return most;
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

async function write(file: string, text: string, force: boolean): Promise<void> {
  if (!force && (await stat(file).catch(() => undefined)) !== undefined)
    throw new UsageError([`${file} is there: change it, or write it again with --force`]);
  await writeFile(file, text, { flag: force ? 'w' : 'wx' });
}

function reportOf(project: Project, file: string): string {
  const { name, script, facts, data } = project;
  const fills = facts.fills
    .filter(({ what }) => what !== 'resume')
    .map(({ argument, what }) => `${argument} for the ${what}`);
  return [
    `wrote ${file}: the pipeline ${name}`,
    `  script  ${script} (${facts.framework}, ${facts.strategy})${fills.length === 0 ? '' : `: ${fills.join(', ')}`}`,
    data === undefined
      ? '  data    none was found'
      : `  data    ${data.folder}/: ${data.files} ${data.kind}${data.labels.length === 0 ? '' : ` with ${data.labels.length} labels`}`,
    ...(data?.layout?.notes ?? []).map(({ text }) => `  found   ${text}`),
    ...(data?.layout?.remedies ?? []).map((text) => `  to do   ${text}`),
    ...(readsFiles(project)
      ? ['  reads   the files of its sealed version: none that packing rejects or that comes later']
      : []),
    ...toDo(project).map((line) => `  to do   ${line}`),
  ].join('\n');
}

interface Standing {
  /** Of the project, from where the person stands; empty where they stand in it. */
  readonly folder: string;
  readonly environment: Context['environment'];
}

/** As the person can type it where they stand: elsewhere npx knows no tidewheel. */
function nextText({ name, data }: Project, { folder, environment }: Standing): string {
  const program = environment['npm_command'] === 'exec' ? 'npx tidewheel' : 'tidewheel';
  const word = /^[\w./][\w./-]*$/.test(folder) ? folder : shellQuote(folder);
  const ofFolder = (named: string): string => `${program} ${named}${folder === '' ? '' : ` ${word}`}`;
  const send: (readonly [string, string])[] =
    data === undefined
      ? [
          [ofFolder('apply'), 'declares the pipeline, sends the code'],
          [`${program} run ${name}`, 'trains without data; with data: tidewheel drop FOLDER'],
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
