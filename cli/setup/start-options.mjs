/**
 * The options of `npm start`, and what is wrong with those that were typed. It needs no package: a mistake is refused
 * before the first of a gigabyte of packages is installed. cli/start/ready.ts reads the values.
 */
import { readdirSync } from 'node:fs';
import path from 'node:path';
import util from 'node:util';
import { certainWords, mistypedOptions } from '../../packages/kit/mistyped.mjs';

/** A test compares these with the lists of the programs. */
const LAUNCHER_NAMES = ['sagemaker', 'ec2', 'cheapest'];
const PROFILE_NAMES = ['new-account', 'default', 'none'];
const SCRIPTS =
  'demo (one interruption a run; demo:NUMBER moves it), calm, seed:NUMBER, or trace:FOLDER (a JSON file for each zone)';
export const SECONDS = 'give seconds from 1 to 120';
export const A_FOLDER = 'name a folder';
/**
 * @typedef {readonly [least: number, most: number, standard: number]} Bounds
 * @type {Readonly<Record<'chaos-every' | 'chaos-seconds' | 'chaos-seed', Bounds>>}
 */
export const CHAOS_NUMBERS = {
  'chaos-every': [5, 3_600, 10],
  // The deadline of the pipeline.
  'chaos-seconds': [10, 7_200, 300],
  'chaos-seed': [0, 1e9, 1],
};
/** @param {Bounds} bounds */
export const wholeFrom = ([least, most]) => `give a whole number from ${least} to ${most}`;

/** Together they would start a region that never ends. */
const ONCE_WITHOUT_DEMO =
  '--once ends with the report of the demo, which --no-demo leaves out: take one of them out';

/** Faults befall the hosts of SageMaker. */
const CHAOS_ALONE = '--chaos trains a pipeline of its own, on SageMaker: take out --no-demo and --launcher';

/** @type {Readonly<Record<string, { readonly type: 'string' | 'boolean' }>>} */
export const START_OPTIONS = {
  once: { type: 'boolean' },
  'no-demo': { type: 'boolean' },
  chaos: { type: 'boolean' },
  'chaos-every': { type: 'string' },
  'chaos-seconds': { type: 'string' },
  'chaos-seed': { type: 'string' },
  launcher: { type: 'string' },
  market: { type: 'string' },
  grace: { type: 'string' },
  limits: { type: 'string' },
  state: { type: 'string' },
  verbose: { type: 'boolean' },
  json: { type: 'boolean' },
};

const helpOf = (command, demo, state) => `${command}

${demo}
  --chaos            in place of the demo: four hosts train, faults befall them, and a table says
                     what was lost; with --once exit code 0 if the weights are those of an undisturbed run
  --chaos-every N    a fault each N seconds (default 10)
  --chaos-seconds N  so long (default 300, at most 7200)
  --chaos-seed N     another order of the faults, other hosts (default 1)
  --launcher NAME    where the demo trains: ${LAUNCHER_NAMES.join(', ')} (default sagemaker; cheapest: placement weighs all)
  --market SCRIPT    demo (default: one interruption a run), demo:N, calm, seed:NUMBER, trace:FOLDER
  --grace SECONDS    what a host gets between SIGTERM and SIGKILL (default 30; SageMaker's is 120)
  --limits PROFILE   of an AWS account: ${PROFILE_NAMES.join(', ')} (default none). A new account runs 10
                     functions at once and has no instances with accelerators. With it and with default, S3, EC2 and
                     SageMaker throttle, and S3 answers after 0.1 s (every figure and its source:
                     emulators/limits/profiles.ts)
  --state FOLDER     where everything is kept (default ${state})
  --verbose          also what the local SageMaker, EC2 and the market say
  --json             one JSON document on standard output when the region is up; all else goes to standard error
  --help             this text
`;

export const START_HELP = helpOf(
  'npm start -- [options]',
  `  --once             end with the report of the demo's run; exit code 0 if it succeeded
  --no-demo          start empty: no demo data, only what you drop`,
  '.tidewheel',
);

export const UP_SUMMARY = 'run a region on this machine: the whole service, without an AWS account';

export const UP_HELP = helpOf(
  `tidewheel up [OPTIONS]

${UP_SUMMARY[0]?.toUpperCase()}${UP_SUMMARY.slice(1)}.

It stays up until Ctrl-C, and the next start continues what was not finished. Verbs in other terminals find it by its
folder. The first start installs PyTorch and packages the functions, which takes minutes.`,
  `  --demo             also drop the demo's digits and train on them, as npm start does
  --once             with --demo: end with the report of its run; exit code 0 if it succeeded`,
  '.tidewheel in this folder',
);

/**
 * As `npm start` takes them: `up` leaves the demo out, and keeps its state where the person stands.
 * @param {readonly string[]} args
 * @returns {string[]}
 */
export function upArguments(args) {
  const hasState = args.some((arg) => arg === '--state' || arg.startsWith('--state='));
  return [
    ...args.filter((arg) => arg !== '--demo'),
    ...(['--demo', '--no-demo', '--chaos'].some((each) => args.includes(each)) ? [] : ['--no-demo']),
    ...(hasState ? [] : ['--state', path.join(calledFrom(), '.tidewheel')]),
  ];
}

/** npm changes to the project's folder. Typed paths are relative to where npm was called. */
export const calledFrom = () => process.env.INIT_CWD ?? process.cwd();

/**
 * What stands in the files is for the market to judge: emulators/spot-market/script-option.ts
 * @param {string} folder
 */
function problemOfTraces(folder) {
  try {
    if (readdirSync(folder).some((name) => name.endsWith('.json'))) return undefined;
    return `there is no trace in ${folder}: name a folder with a .json file for each zone`;
  } catch {
    return `there is no folder ${folder}: name one with a .json file for each zone`;
  }
}

/** @type {Readonly<Record<string, (value: string) => string | undefined>>} what is wrong with a value */
const PROBLEM_OF = {
  launcher: (value) => (LAUNCHER_NAMES.includes(value) ? undefined : `write ${LAUNCHER_NAMES.join(', ')}`),
  market: (value) => {
    const [, folder] = /^trace:(.+)$/s.exec(value) ?? [];
    if (folder !== undefined) return problemOfTraces(path.resolve(calledFrom(), folder));
    const isScript = /^(calm|demo|demo:\d{1,9}|seed:\d{1,9})$/.test(value);
    return isScript ? undefined : `there is no such market script; write ${SCRIPTS}`;
  },
  grace: (value) => (Number(value) >= 1 && Number(value) <= 120 ? undefined : SECONDS),
  state: (value) => (value === '' ? A_FOLDER : undefined),
  limits: (value) => (PROFILE_NAMES.includes(value) ? undefined : `write ${PROFILE_NAMES.join(', ')}`),
  ...Object.fromEntries(
    Object.entries(CHAOS_NUMBERS).map(([name, bounds]) => [
      name,
      (/** @type {string} */ value) =>
        /^\d+$/.test(value) && Number(value) >= bounds[0] && Number(value) <= bounds[1]
          ? undefined
          : wholeFrom(bounds),
    ]),
  ),
};

/**
 * @param {Readonly<Record<string, unknown>>} given the options as they were typed
 * @returns {string[]} what is wrong with several together, in a sentence each
 */
export function contraryOptions(given) {
  const { once, chaos, market, launcher = 'sagemaker', 'no-demo': isEmpty } = given;
  const typed = Object.keys(CHAOS_NUMBERS).flatMap((name) => {
    const value = given[name];
    return typeof value === 'string' ? [{ name, value }] : [];
  });
  const numberOf = (/** @type {keyof typeof CHAOS_NUMBERS} */ wanted) =>
    Number(typed.find(({ name }) => name === wanted)?.value ?? CHAOS_NUMBERS[wanted][2]);
  const [every, seconds] = [numberOf('chaos-every'), numberOf('chaos-seconds')];
  return [
    ...(once === true && isEmpty === true ? [ONCE_WITHOUT_DEMO] : []),
    ...(chaos === true && (isEmpty === true || launcher !== 'sagemaker') ? [CHAOS_ALONE] : []),
    ...(chaos === true && typeof market === 'string' && market !== 'calm'
      ? [`--market is "${market}", and --chaos runs with a calm one: take out --market`]
      : []),
    ...(chaos === undefined ? typed : []).map(
      ({ name, value }) => `--${name} is "${value}", and is for --chaos: add that, or take it out`,
    ),
    ...(seconds <= every
      ? [`--chaos-seconds is ${seconds}: give more than --chaos-every, which is ${every}`]
      : []),
  ];
}

/**
 * @param {readonly string[]} args
 * @returns {string[]} every mistake, in a sentence each
 */
export function startMistakes(args) {
  // Node 16 and older have no parseArgs; set-up refuses them.
  if (util.parseArgs === undefined) return [];
  const { values, tokens } = util.parseArgs({
    args: [...args],
    options: START_OPTIONS,
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const mistyped = mistypedOptions(tokens, START_OPTIONS);
  const surplus = certainWords(tokens, START_OPTIONS).map((word) => `"${word}" is one word too many`);
  const wrong = Object.entries(PROBLEM_OF).flatMap(([name, problemOf]) => {
    const value = values[name];
    const problem = typeof value === 'string' ? problemOf(value) : undefined;
    return problem === undefined ? [] : [`--${name} is "${value}": ${problem}`];
  });
  return [...mistyped, ...surplus, ...wrong, ...contraryOptions(values)];
}
