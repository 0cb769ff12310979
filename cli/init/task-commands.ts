/** What the commands of a SkyPilot task become: `run` with the places of this service, `setup` line by line. */
import path from 'node:path';
import { dataIn } from './data.ts';
import { asTable, asText, better, cannot, type JobRow, type Line, rowOf, same, type Table } from './job.ts';

interface Mounts {
  /** By the path on SkyPilot's hosts: what stands for it in bash. */
  readonly places: ReadonlyMap<string, string>;
  /** As CreateTrainingJob takes them. */
  readonly channels: readonly Table[];
  readonly dependencies: readonly string[];
  readonly rows: readonly JobRow[];
}

interface Around {
  /** What the task's `envs` set. */
  readonly environment: Table;
  readonly workdir: string;
  readonly names: readonly string[];
}

const CHECKPOINTS = '$TIDEWHEEL_CHECKPOINT_DIR';
const SOURCE = '$TIDEWHEEL_WORKING_DIR';
const OF_OUTPUT = /checkpoint|ckpt|\bout|result|artifact|model|log/i;
const CODE = /\.(py|sh|ya?ml|toml|cfg|ini|jinja)$/;

export function mountedIn(mounts: unknown, around: Around): Mounts {
  const made = Object.entries(asTable(mounts)).map(([written, given]) => {
    const at = filled(written, around.environment).replace(/(.)\/$/, '$1');
    const { line, ...mount } = mounted(at, sourceOf(given, around), around);
    const rows = line === undefined ? [] : [rowOf(`file_mounts: ${at}`, given, line)];
    return { ...mount, at, rows };
  });
  return {
    places: new Map(made.flatMap(({ at, place }) => (place === undefined ? [] : [[at, place]]))),
    channels: made.flatMap(({ channel }) => (channel === undefined ? [] : [channel])),
    dependencies: made.flatMap(({ dependency }) => dependency ?? []),
    rows: made.flatMap(({ rows }) => rows),
  };
}

interface Source {
  /** A URI, or a path in this folder; empty for a bucket that is the task's own. */
  readonly from: string;
  readonly isMounted: boolean;
}

/** A bucket that is only named may hold data, or what the task writes. */
function sourceOf(given: unknown, { environment }: Around): Source {
  const { source, store = 's3', name, mode } = typeof given === 'string' ? { source: given } : asTable(given);
  const from = filled(asText(source) ?? '', environment);
  const bucket = filled(asText(name) ?? '', environment);
  const isS3 = bucket !== '' && /^s3$/i.test(filled(String(store), environment));
  return {
    from: from === '' && isS3 ? `s3://${bucket}/` : from,
    isMounted: from === '' || mode === 'MOUNT',
  };
}

interface Mounted {
  readonly place?: string;
  readonly channel?: Table;
  readonly dependency?: string;
  readonly line?: Line;
}

function mounted(at: string, { from, isMounted }: Source, { names, workdir }: Around): Mounted {
  if (isMounted && OF_OUTPUT.test(at))
    return {
      place: CHECKPOINTS,
      line: better(CHECKPOINTS, 'each run has its own, which outlives its hosts'),
    };
  if (from.startsWith('s3://') || isData(from, names)) {
    const ChannelName = channelName(at);
    const channel = { ChannelName, DataSource: { S3DataSource: { S3Uri: from } } };
    return { place: `$SM_CHANNEL_${ChannelName.toUpperCase()}`, channel };
  }
  if (from === '' || !isHere(from, names))
    return { line: cannot('copy it into this folder, or into a prefix of S3 (training.channels)') };
  const inside = path.posix.relative(workdir, path.posix.normalize(from));
  const isBeside = inside.startsWith('..');
  const below = isBeside ? path.posix.basename(from) : inside;
  return {
    place: below === '' ? SOURCE : `${SOURCE}/${below}`,
    ...(isBeside && { dependency: path.posix.normalize(from) }),
    line: same(below === '' ? 'x-local.source' : `x-local.source: ${below}`),
  };
}

/** Nothing outside of the project's folder is sent. */
export const isHere = (place: string, names: readonly string[]): boolean => {
  const at = path.posix.normalize(place).replace(/(.)\/$/, '$1');
  return at === '.' || names.some((name) => name === at || name.startsWith(`${at}/`));
};

const filled = (text: string, environment: Table): string =>
  text.replaceAll(/\$\{?(\w+)\}?/g, (all, name: string) => asText(environment[name]) ?? all);

/** A folder of files that a script reads, and none of code. */
function isData(uri: string, names: readonly string[]): boolean {
  const folder = path.posix.normalize(uri).replace(/\/$/, '');
  const below = names.flatMap((name) => (name.startsWith(`${folder}/`) ? name.slice(folder.length + 1) : []));
  return !below.some((name) => CODE.test(name)) && dataIn(folder, below) !== undefined;
}

const channelName = (at: string): string => {
  const name = at
    .replaceAll(/\W+/g, '_')
    .replaceAll(/^_+|_+$/g, '')
    .slice(0, 60);
  return ['', 'agent', 'code'].includes(name) ? `data_${name}`.replace(/_$/, '') : name;
};

export interface Commands {
  readonly text: string;
  readonly distribution: Table;
  readonly rows: readonly JobRow[];
}

/** SkyPilot's variables, by those of SageMaker. */
const VARIABLES = `export SKYPILOT_NODE_IPS="$(tr -d '[]" ' <<< "$SM_HOSTS" | tr , '\\n')"
export SKYPILOT_NUM_NODES="$(wc -l <<< "$SKYPILOT_NODE_IPS")"
export SKYPILOT_NODE_RANK="$(($(grep -nxF "$SM_CURRENT_HOST" <<< "$SKYPILOT_NODE_IPS" | cut -d: -f1) - 1))"
export SKYPILOT_NUM_GPUS_PER_NODE="$SM_NUM_GPUS" SKYPILOT_TASK_ID="$TRAINING_JOB_NAME"
`;

const ACTIVATES = /^\s*(conda activate\b|(source|\.)\s+\S*\/activate\b)/;
const NOT_THERE = /\b(sudo|ssh|pdsh|docker|--hostfile)\b/;

export function runOf(run: string, { places }: Mounts, nodes: number): Commands {
  const rows: JobRow[] = [];
  const tell = (...row: Parameters<typeof rowOf>) => rows.push(rowOf(...row));
  const kept = run.split('\n').map((text, index) => {
    const missing = NOT_THERE.exec(text)?.[0];
    if (missing !== undefined)
      tell(`run, line ${index + 1}`, text.trim(), cannot(`hosts have no ${missing}: change it`));
    if (!ACTIVATES.test(text)) return text;
    tell(`run, line ${index + 1}`, text.trim(), better('(nothing)', 'the image has one Python'));
    return '';
  });
  const { text, distribution, launcher } = withoutTorchrun(kept.join('\n'));
  if (launcher !== undefined)
    tell(
      'run',
      launcher,
      better('training.strategy', 'ddp has torchrun start it, and each process runs all of run'),
    );
  else if (nodes > 1)
    tell('run', `on ${nodes} nodes`, same('training.strategy', 'ddp runs it once on each host'));
  const placed = [...places]
    .toSorted(([one], [other]) => other.length - one.length)
    .reduce((all, [at, place]) => all.replaceAll(mentions(at), () => place), text.trim());
  if (!placed.includes(CHECKPOINTS)) tell('run', '(it keeps nothing)', KEEPS_NOTHING);
  const variables = placed.includes('SKYPILOT_') ? VARIABLES : '';
  // A final line end: an argument that ends with ? would be optional.
  return {
    text: `${variables}${placed}\n`,
    distribution: launcher === undefined && nodes > 1 ? ONCE_ON_EACH : distribution,
    rows,
  };
}

const ONCE_ON_EACH: Table = { torch_distributed: { enabled: true, processes_per_host: 1 } };
const KEEPS_NOTHING: Line = {
  verdict: 'unread',
  ours: `${CHECKPOINTS} where it saves`,
  why: 'that folder outlives its host, and no other does',
};

const mentions = (at: string): RegExp =>
  new RegExp(`(?<![\\w./~$}-])${at.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`)}(?![\\w.-])`, 'g');

const LAUNCHER = /\b(?:torchrun|python3? -m torch\.distributed\.(?:run|launch))(?=\s)/;
const ALONE = ['--standalone', '--use_env', '--use-env', '--no_python', '--no-python'];

const SUBSTITUTION = String.raw`\$\((?:[^()]|\([^()]*\))*\)`;
/** A part of a word of bash. */
const WORD = String.raw`(?:${SUBSTITUTION}|"(?:${SUBSTITUTION}|[^"$]|\$(?!\())*"|'[^']*'|\x60[^\x60]*\x60|[^\s"'\x60\\(])`;

/** Its arguments are those of the strategy. */
function withoutTorchrun(
  run: string,
): Pick<Commands, 'text' | 'distribution'> & { readonly launcher?: string } {
  const found = LAUNCHER.exec(run);
  if (found === null) return { text: run, distribution: {} };
  const from = found.index + found[0].length;
  // Up to the end of the line, which a backslash continues.
  const line = /^(?:\\\n|[^\n])*/.exec(run.slice(from))?.[0] ?? '';
  const words = [...line.matchAll(new RegExp(`${WORD}+`, 'g'))];
  const { count, processes = '' } = optionsIn(words.map(([word]) => word));
  const script = words[count];
  if (script === undefined) return { text: run, distribution: {} };
  const settings = /^\d+$/.test(processes) ? { processes_per_host: Number(processes) } : {};
  const end = from + script.index;
  return {
    text: `${run.slice(0, found.index)}python ${run.slice(end)}`,
    distribution: { torch_distributed: { enabled: true, ...settings } },
    launcher: run
      .slice(found.index, end)
      .replaceAll(/[\s\\]+/g, ' ')
      .trim(),
  };
}

/** @returns how many words are torchrun's own */
function optionsIn(words: readonly string[]): { readonly count: number; readonly processes?: string } {
  let processes: string | undefined;
  let count = 0;
  for (let word = words[0]; word?.startsWith('-') && word !== '-m'; word = words[count]) {
    const [, flag = '', given] = /^(--?[\w-]+)(?:=(.*))?$/s.exec(word) ?? [];
    count += given === undefined && !ALONE.includes(flag) ? 2 : 1;
    if (/^--nproc[-_]per[-_]node$/.test(flag)) processes = given ?? words[count - 1];
  }
  return { count, ...(processes !== undefined && { processes }) };
}

const NO_SETUP = cannot(
  'hosts run no set-up but requirements.txt: an image of your own has it (training.image)',
);
const IS_CLONED = cannot('clone it into this folder: a run has the code of its start');
const ONE_PYTHON = better('(nothing)', 'the image has one Python');

/** Line by line. @returns those of requirements.txt */
export function setupOf(setup: string): {
  readonly requirements: readonly string[];
  readonly rows: readonly JobRow[];
} {
  const requirements = new Set<string>();
  const rows: JobRow[] = [];
  for (const [index, written] of setup.replaceAll('\\\n', ' ').split('\n').entries()) {
    const text = written.trim();
    const tell = (line: Line) => rows.push(rowOf(`setup, line ${index + 1}`, text, line));
    const [, words] = /(?:^|&& ?)(?:python3? -m |uv )?pip3? install\s+(.*)$/.exec(text) ?? [];
    if (words !== undefined) {
      const { found, hasTorch } = packagesOf(words);
      for (const each of found) requirements.add(each);
      tell(same('requirements.txt', hasTorch ? 'without PyTorch, which the image has' : ''));
    } else if (/^git\b/.test(text)) tell(IS_CLONED);
    else if (/^(conda|uv venv|source|\.)\s/.test(text)) tell(ONE_PYTHON);
    else if (!/^(#|$|cd\b|echo\b|set -|(if|then|else|fi)\b)/.test(text)) tell(NO_SETUP);
  }
  return { requirements: [...requirements], rows };
}

/** Names, and options that are lines of requirements.txt too; files and folders lie in the source. */
function packagesOf(words: string) {
  const all = words.replace(/\s[;&|#].*/, '').match(/"[^"]*"|'[^']*'|[^\s"']+/g) ?? [];
  const [names, options]: [string[], string[]] = [[], []];
  for (let index = 0; index < all.length; index += 1) {
    const word = (all[index] ?? '').replaceAll(/["']/g, '');
    if (/^(--(extra-)?index-url|--find-links|-f)$/.test(word))
      options.push(`${word} ${all[((index += 1))] ?? ''}`);
    else if (/^(-r|-e|-i|-c|--index-strategy)$/.test(word)) index += 1;
    else if (!/^[-./~]|^pip$/.test(word)) names.push(word);
  }
  const found = names.filter((name) => !/^(torch|torchvision|torchaudio)\b(?!-)/.test(name));
  const hasTorch = found.length < names.length;
  // An index that a line with PyTorch names is PyTorch's own.
  return { found: hasTorch ? found : [...options, ...found], hasTorch };
}
