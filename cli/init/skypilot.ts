/**
 * A SkyPilot task, as the job that it asks for (docs.skypilot.co, SkyPilot YAML). `run` stays as it is, but for paths of
 * mounts and torchrun's own arguments.
 */
import { readFile } from 'node:fs/promises';
import { own } from '@tidewheel/kit/own-property.ts';
import { LineCounter, parseAllDocuments } from 'yaml';
import {
  asTable,
  asText,
  better,
  cannot,
  type FoundJob,
  type JobRow,
  type Line,
  listOf,
  same,
  shown,
  type Table,
} from './job.ts';
import { gigabytesOf, nearestTo, typesOf } from './skypilot-types.ts';
import { mountedIn, runOf, setupOf } from './task-commands.ts';

/** Whether a YAML file is a task, by its text. */
export const mayBeTask = (text: string): boolean =>
  /^(run|setup)\s*:/m.test(text) &&
  /^(resources|num_nodes|file_mounts|workdir)\s*:/m.test(text) &&
  !/^training\s*:/m.test(text);

interface FoundTask {
  readonly line: string;
  readonly job: FoundJob;
}

/** @param names of the project's files @throws Error where the file is no YAML */
export async function readTasks(
  file: string,
  origin: string,
  names: readonly string[],
): Promise<readonly FoundTask[]> {
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

const NO_SECRET = 'every reader of a run sees its environment: keep secrets out of it';
/** Those that have no field in CreateTrainingJob. */
const FIELDS: Readonly<Record<string, Line>> = {
  name: better('name', 'runs are numbered'),
  workdir: same('x-local.source'),
  num_nodes: same('compute.nodes'),
  secrets: cannot(NO_SECRET),
  managed_secrets: cannot(NO_SECRET),
  service: cannot('nothing is served: it trains'),
  pool: cannot('a run has hosts of its own'),
  volumes: cannot('name a file system in training.channels: efs or fsxLustre'),
  config: cannot('settings of SkyPilot itself'),
  event_callback: better('notify', 'sends what happened to topics and webhooks'),
  inputs: cannot('an estimate for SkyPilot'),
  outputs: cannot('an estimate for SkyPilot'),
  'resources.accelerator_args': cannot('TPUs are not AWS’s'),
  'resources.disk_tier': cannot('there is one kind of volume'),
  'resources.network_tier': same('(nothing)', 'EFA where the type has it'),
  'resources.local_disk': better('(nothing)', 'NVMe is used where the type has it'),
  'resources.max_hourly_cost': cannot('limits.budgetUsd bounds the whole run'),
  'resources.ports': cannot('hosts take no calls from outside'),
  'resources.autostop': better('(nothing)', 'hosts end with their attempt'),
  'resources.job_recovery': better(
    '(each attempt)',
    'goes on from the last checkpoint where capacity is best',
  ),
  'resources.spot_recovery': better(
    '(each attempt)',
    'goes on from the last checkpoint where capacity is best',
  ),
  'resources.priority': cannot('each run has its own deadline: limits.deadlineHours'),
};
const UNKNOWN = cannot('this field is not known here');

/** These have rows of their own, or fields of the API. */
const TAKEN =
  /^(num_nodes|resources|envs|file_mounts|setup|run|resources\.(accelerators|cpus|memory|instance_type|use_spot|disk_size|image_id|labels|infra|cloud|region|zone|any_of|ordered|candidates))$/;

class Task {
  readonly rows: JobRow[] = [];
  readonly words = new Map<string, string>();

  tell(theirs: string, value: unknown, line: Line): void {
    this.rows.push({ ...line, theirs, value: shown(value ?? '(none)') });
  }

  rest(table: Table, prefix = ''): void {
    for (const [name, value] of Object.entries(table))
      if (!TAKEN.test(prefix + name)) this.tell(prefix + name, value, own(FIELDS, prefix + name) ?? UNKNOWN);
  }
}

function jobOfTask(given: Table, origin: string, names: readonly string[]): FoundJob {
  const task = new Task();
  task.rest(given);
  const environment = environmentOf(given['envs'], task);
  const workdir = asText(given['workdir']);
  if (workdir === undefined && given['workdir'] !== undefined)
    task.tell('workdir', given['workdir'], cannot('clone it, and run tidewheel init there'));
  const mounts = mountedIn(given['file_mounts'], { environment, workdir: workdir ?? '.', names });
  task.rows.push(...mounts.rows);
  const nodes = Number(given['num_nodes'] ?? 1);
  const run = runOf(asText(given['run']) ?? '', mounts, nodes);
  const setup = setupOf(asText(given['setup']) ?? '');
  task.rows.push(...run.rows, ...setup.rows);
  task.words.set('ResourceConfig.InstanceCount', 'num_nodes');
  task.words.set('Environment', 'envs');
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

function environmentOf(envs: unknown, task: Task): Table {
  const isSecret = (name: string) => /TOKEN|SECRET|PASSWORD|API_?KEY/i.test(name);
  const given = Object.entries(asTable(envs));
  for (const [name, value] of given) {
    if (isSecret(name)) task.tell(`envs: ${name}`, '…', cannot(NO_SECRET));
    else if (value === null || value === '')
      task.tell(`envs: ${name}`, '(given at the start)', {
        verdict: 'unread',
        ours: 'training.environment',
        why: '',
      });
  }
  return Object.fromEntries(
    given.flatMap(([name, value]) =>
      isSecret(name) || value === null || value === '' ? [] : [[name, String(value)]],
    ),
  );
}

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
    const place =
      asText(each['infra']) ??
      ['cloud', 'region', 'zone'].flatMap((name) => asText(each[name]) ?? []).join('/');
    const isOfAws =
      /^(aws|\*|)(\/|$)/i.test(place) || (each['cloud'] === undefined && each['infra'] === undefined);
    if (!isOfAws) task.tell('resources.infra', place, cannot('it trains on AWS alone'));
    else if (place.includes('/')) task.tell('resources.infra', place, IN_REGION);
    return isOfAws;
  });
  return ofAws.length === 0 ? all : ofAws;
}

const IN_REGION = cannot('the deployment has a region, and compute.regions names more');

function resourcesOf(resources: Table, task: Task): Table & { readonly ResourceConfig: Table } {
  task.rest(resources, 'resources.');
  const candidates = candidatesOf(resources, task);
  const [first = {}] = candidates;
  const types = [...new Set(candidates.flatMap((each) => typesOf(each)))];
  const wanted = ['instance_type', 'accelerators', 'cpus', 'memory'].find((name) => name in first);
  const word = `resources.${wanted ?? 'cpus'}`;
  if (types.length === 0)
    task.tell(word, first[wanted ?? 'cpus'], {
      verdict: 'unread',
      ours: 'compute.instanceTypes',
      why: nearestTo(first),
    });
  for (const field of ['InstanceType', 'InstancePreferences.InstanceType'])
    task.words.set(`ResourceConfig.${field}`, word);
  task.words.set('EnableManagedSpotTraining', 'resources.use_spot');
  task.words.set('ResourceConfig.VolumeSizeInGB', 'resources.disk_size');
  task.words.set('Tags', 'resources.labels');
  task.words.set('AlgorithmSpecification.TrainingImage', 'resources.image_id');
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
  const why = asText(image)?.startsWith('docker:')
    ? 'images come from ECR: copy it there, and name it in training.image'
    : 'compute.ec2.image takes a machine image, with compute.launcher: ec2';
  const isOfSkyPilot = asText(image)?.startsWith('skypilot:');
  const line = isOfSkyPilot ? better('training.framework', 'the image of AWS for each type') : cannot(why);
  task.tell('resources.image_id', image, line);
  return {};
}
