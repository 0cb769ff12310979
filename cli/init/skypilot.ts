/**
 * A SkyPilot task, as the job that it asks for (docs.skypilot.co, SkyPilot YAML). `run` stays as it is, but for paths of
 * mounts and torchrun's own arguments.
 */
import { readFile } from 'node:fs/promises';
import { own } from '@tidewheel/kit/own-property.ts';
import { LineCounter, parseAllDocuments } from 'yaml';
import { ARGUMENTS } from './fields.ts';
import {
  asTable,
  asText,
  better,
  cannot,
  type FoundJob,
  type JobRow,
  type Line,
  listOf,
  plain,
  rowOf,
  type Table,
} from './job.ts';
import { gigabytesOf, nearestTo, typesOf } from './skypilot-types.ts';
import { isHere, mountedIn, runOf, setupOf } from './task-commands.ts';

/** Whether a YAML file is a task, by its text. */
export const mayBeTask = (text: string): boolean =>
  /^(run|setup)\s*:/m.test(text) &&
  /^(resources|num_nodes|file_mounts|workdir)\s*:/m.test(text) &&
  !/^training\s*:/m.test(text);

/** @param names of the project's files @throws Error where the file is no YAML */
export async function readTasks(file: string, origin: string, names: readonly string[]) {
  const lines = new LineCounter();
  const documents = parseAllDocuments(await readFile(file, 'utf8'), { lineCounter: lines });
  return (Array.isArray(documents) ? documents : []).flatMap((document) => {
    const [problem] = document.errors;
    if (problem !== undefined)
      throw new Error(`${file} cannot be read: ${problem.message.split('\n')[0] ?? ''}`);
    const task = asTable(document.toJS());
    if (asText(task['run']) === undefined && asText(task['setup']) === undefined) return [];
    const line = `line ${lines.linePos(document.contents?.range?.[0] ?? 0).line}`;
    return [{ line, job: jobOfTask(task, origin, names) }];
  });
}

const UNKNOWN = cannot('this field is not known here');
/** Their parts have rows. */
const IN_PARTS = /^(resources|setup|run|resources\.(infra|cloud|region|zone|any_of|ordered|candidates))$/;

class Task {
  readonly rows: JobRow[] = [];
  readonly words = new Map<string, string>();

  tell(theirs: string, value: unknown, line: Line): void {
    this.rows.push(rowOf(theirs, value ?? '(none)', line));
  }

  take(table: Table, prefix = ''): void {
    for (const [name, value] of Object.entries(table)) {
      const field = prefix + name;
      const line = own(ARGUMENTS.skypilot, field) ?? UNKNOWN;
      if (typeof line === 'string') this.words.set(line, field);
      else if (!IN_PARTS.test(field)) this.tell(field, value, line);
    }
  }
}

function jobOfTask(given: Table, origin: string, names: readonly string[]): FoundJob {
  const task = new Task();
  task.take(given);
  const environment = environmentOf(given['envs']);
  const workdir = asText(given['workdir']);
  if (given['workdir'] !== undefined && (workdir === undefined || !isHere(workdir, names)))
    task.tell('workdir', given['workdir'], cannot('it is not here: run tidewheel init where it is'));
  const mounts = mountedIn(given['file_mounts'], { environment, workdir: workdir ?? '.', names });
  task.rows.push(...mounts.rows);
  const nodes = Number(given['num_nodes'] ?? 1);
  const run = runOf(asText(given['run']) ?? '', mounts, nodes);
  const setup = setupOf(asText(given['setup']) ?? '');
  task.rows.push(...run.rows, ...setup.rows);
  const { ResourceConfig, ...resources } = resourcesOf(asTable(given['resources']), task);
  return {
    origin,
    request: {
      ...resources,
      ResourceConfig: { ...ResourceConfig, InstanceCount: nodes },
      InputDataConfig: mounts.channels,
      ...(Object.keys(environment).length > 0 && { Environment: environment }),
    },
    hyperparameters: {},
    words: task.words,
    framework: { name: frameworkIn(given), argument: 'setup', version: undefined },
    entryPoint: undefined,
    source: workdir,
    dependencies: mounts.dependencies,
    distribution: run.distribution,
    command: ['bash', '-c', run.text],
    // Its files stay beside the checkpoints.
    settings: { model: 'none' },
    requirements: setup.requirements,
    rows: task.rows,
  };
}

/** One without a value gets it when the task is started. */
const environmentOf = (envs: unknown): Table =>
  Object.fromEntries(
    Object.entries(asTable(envs)).map(([name, value]) => [
      name,
      value === null || value === ''
        ? { $unread: '…', line: 'given later' }
        : (asText(value) ?? plain(value)),
    ]),
  );

const frameworkIn = (given: Table): string => {
  const text = `${asText(given['setup'])}\n${asText(given['run'])}`;
  const isPlain = !/\btorch/.test(text);
  const named = ['tensorflow', 'xgboost', 'sklearn'].find((name) => isPlain && text.includes(name));
  return named ?? (isPlain && /scikit-learn/.test(text) ? 'sklearn' : 'pytorch');
};

/** Those of AWS, if there are any; fields outside of them hold for each. */
function candidatesOf(resources: Table, task: Task): readonly Table[] {
  const { any_of, ordered = any_of, candidates = ordered, ...common } = resources;
  const listed = listOf(candidates).map((each) => ({ ...common, ...asTable(each) }));
  const all: readonly Table[] = listed.length === 0 ? [common] : listed;
  const ofAws = all.filter((each) => {
    const { cloud = '', region, zone, infra = [cloud, region, zone].filter(Boolean).join('/') } = each;
    const place = String(infra);
    const isOfAws = /^(aws|\*|)(\/|$)/i.test(place) || (cloud === '' && !('infra' in each));
    if (!isOfAws) task.tell('resources.infra', place, cannot('it trains on AWS alone'));
    else if (place.includes('/')) task.tell('resources.infra', place, IN_REGION);
    return isOfAws;
  });
  return ofAws.length === 0 ? all : ofAws;
}

const IN_REGION = cannot('the deployment has a region, and compute.regions names more');

function resourcesOf(resources: Table, task: Task): Table & { readonly ResourceConfig: Table } {
  task.take(resources, 'resources.');
  const candidates = candidatesOf(resources, task);
  const [first = {}] = candidates;
  const types = [...new Set(candidates.flatMap((each) => typesOf(each)))];
  const wanted = ['instance_type', 'accelerators', 'cpus', 'memory'].find((name) => name in first) ?? 'cpus';
  for (const field of ['InstanceType', 'InstancePreferences.InstanceType'])
    task.words.set(`ResourceConfig.${field}`, `resources.${wanted}`);
  if (types.length === 0) {
    const line: Line = { verdict: 'unread', ours: 'compute.instanceTypes', why: nearestTo(first) };
    task.tell(`resources.${wanted}`, first[wanted], line);
  }
  const [type, ...others] = types;
  const volume = gigabytesOf(first['disk_size']);
  return {
    ...imageOf(first['image_id'], task),
    EnableManagedSpotTraining: candidates.some((each) => each['use_spot'] === true),
    Tags: Object.entries(asTable(first['labels'])).map(([Key, Value]) => ({ Key, Value })),
    ResourceConfig: {
      ...(type !== undefined && { InstanceType: type }),
      ...(others.length > 0 && { InstancePreferences: others.map((each) => ({ InstanceType: each })) }),
      ...(volume !== undefined && { VolumeSizeInGB: volume }),
    },
  };
}

function imageOf(image: unknown, task: Task): Table {
  const named = asText(image)?.replace(/^docker:/, '');
  if (named !== undefined && /\.dkr\.ecr\./.test(named))
    return { AlgorithmSpecification: { TrainingImage: named } };
  if (image === undefined || image === null) return {};
  const line = named?.startsWith('skypilot:')
    ? better('training.framework', 'the image of AWS for each type')
    : cannot('images come from ECR (training.image); compute.ec2.image takes a machine image');
  task.tell('resources.image_id', image, line);
  return {};
}
