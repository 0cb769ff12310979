/** How the script is started: its arguments as typed, or a command in its place, its variables, and the folder it runs in. */

import { refusingProto } from '@tidewheel/kit/tables.ts';
import * as z from 'zod';
import {
  channelsIn,
  HYPERPARAMETERS,
  isOptional,
  optionalProblems,
  placeholderProblems,
} from './placeholders.ts';

/** Characters of a value as a hyperparameter carries it: JSON in JSON, in ASCII. */
export const sentLength = (value: unknown): number =>
  JSON.stringify(JSON.stringify(value)).replace(/[^ -~]/g, '\\u0000').length;

const LONGEST_ARGUMENT = 4_000;
const MOST_ARGUMENTS = 200;

/** Linux passes no NUL to a program, and a lone surrogate has no bytes. */
const passable = (text: string): boolean => !text.includes('\0') && text.isWellFormed();

const argumentText = z
  .union([z.string(), z.number(), z.boolean()])
  .transform(String)
  .pipe(
    z
      .string()
      .max(
        LONGEST_ARGUMENT,
        `shorten it to ${LONGEST_ARGUMENT} characters, or put it into a file of the source`,
      )
      .refine(
        passable,
        'leave out the NUL character or the half of a surrogate pair, which no program can get',
      ),
  );

const argument = z.union([argumentText, z.array(argumentText).min(2).max(10)]);

export const argumentsSchema = z
  .array(argument)
  .max(MOST_ARGUMENTS)
  .describe(
    'The command line as typed, instead of the hyperparameters. Placeholders: ${checkpoints}, ${model}, ${output}, ${source}, ${channel:NAME}, ${hyperparameters}; $$ is a dollar sign. An argument that ends with ? is left out where its path is missing, and so is a list of arguments that holds one. With a *, as in ${checkpoints}/epoch_*.pt?, it is the newest whole checkpoint of such a name.',
  );

export const commandSchema = z
  .array(argumentText)
  .min(1)
  .max(MOST_ARGUMENTS)
  .refine(([program]) => /^[A-Za-z0-9._][A-Za-z0-9._/+-]{0,199}$/.test(program ?? ''), {
    message: 'begin with a program, such as bash, python or ./run.sh',
    path: [0],
  })
  .describe('A command instead of a Python script, such as [bash, run.sh] or [python, -m, package.module].');

export const scriptFile = z
  .string()
  .regex(/^[A-Za-z0-9_][A-Za-z0-9_./-]{0,199}\.py$/, 'name a .py file inside the source')
  .refine((path) => !path.includes('..'), 'leave out ".."');

/** For scripts that save where they run. */
export const IN_CHECKPOINTS = '${checkpoints}';

export const workingDirectorySchema = z
  .string()
  .regex(
    /^(?:\$\{checkpoints\}|[A-Za-z0-9_][A-Za-z0-9_./-]{0,199})$/,
    `name a folder inside the source, or ${IN_CHECKPOINTS}`,
  )
  .refine(
    (path) => path.split('/').every((part) => !/^\.{0,2}$/.test(part)),
    'write it without ".", ".." and final slash',
  )
  .describe(
    `The folder of the source in which the script runs; by default the source itself. ${IN_CHECKPOINTS}: for a script that saves where it runs.`,
  );

type Argument = z.output<typeof argument>;

/** What the declaration says of the command line; a schema's rule over several fields may see any type. */
export interface CommandLine {
  readonly command?: readonly string[] | undefined;
  readonly arguments?: readonly Argument[] | undefined;
}

export function commandLineProblems(line: CommandLine, channels: readonly string[]) {
  return [...textsOf(line)].flatMap(({ path, text, isAlone }) => {
    if (isAlone && text === HYPERPARAMETERS) return [];
    if (path[0] === 'command' && path[1] === 0) return [];
    return [...placeholderProblems(text, channels), ...optionalProblems(text)].map((message) => ({
      path,
      message,
    }));
  });
}

/** The channels without which the script would get a path that does not exist. */
export const neededChannels = (line: CommandLine): readonly string[] =>
  [...textsOf(line)].filter(({ mayBeLeftOut }) => !mayBeLeftOut).flatMap(({ text }) => channelsIn(text));

interface ArgumentText {
  readonly path: (string | number)[];
  readonly text: string;
  /** Not part of a list of arguments. */
  readonly isAlone: boolean;
  readonly mayBeLeftOut: boolean;
}

function* textsOf(line: CommandLine): Generator<ArgumentText> {
  for (const field of ['command', 'arguments'] as const) {
    const items: unknown = line[field];
    if (!Array.isArray(items)) continue;
    for (const [index, item] of items.entries()) {
      const texts = (Array.isArray(item) ? item : [item]).filter((text) => typeof text === 'string');
      const mayBeLeftOut = texts.some(isOptional);
      for (const [inner, text] of texts.entries()) {
        const path = Array.isArray(item) ? [field, index, inner] : [field, index];
        yield { path, text, isAlone: !Array.isArray(item), mayBeLeftOut };
      }
    }
  }
}

const MOST_VARIABLES = 50;

/** Who owns the names, and what to do instead. */
const OWNED: readonly (readonly [names: RegExp, reason: string])[] = [
  [/^AWS_/, 'the platform sets AWS_ variables, for the credentials of the role: take it out'],
  [/^SM_CHANNEL_/, 'a channel sets it: declare training.channels, for a try type --channel NAME=PATH'],
  [/^(SM_|SAGEMAKER_|TRAINING_JOB_|CURRENT_HOST$)/, 'it tells the script of its job: take it out'],
  [/^TIDEWHEEL_/, 'it belongs to Tidewheel: take it out, or declare the field that it comes from'],
  [
    /^(LD_|DYLD_|GLIBC_TUNABLES$|GCONV_PATH$)/,
    'it changes how every program of the host is loaded: use training.image',
  ],
  [/^PATH$/, 'every program of the host is found by it: name the program by its path, or use training.image'],
  [
    /^PYTHON(PATH|HOME|EXECUTABLE|PLATLIBDIR|STARTUP|SAFEPATH)$/,
    'the agent finds its own modules and the source by it: put modules into the source or requirements.txt',
  ],
  [
    /^((LOCAL_|GROUP_|ROLE_|NODE_)?RANK|(LOCAL_|GROUP_|ROLE_)?WORLD_SIZE|MASTER_(ADDR|PORT)|TORCHELASTIC_.*|TF_CONFIG|PMI_.*|RAY_(ADDRESS|AUTH_.*))$/,
    'training.strategy sets it for each process: take it out',
  ],
];

const ownedBecause = (name: string): string | undefined => OWNED.find(([names]) => names.test(name))?.[1];

const variableName = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, 'use letters, digits and _, not first a digit')
  .superRefine((name, context) => {
    const reason = ownedBecause(name);
    if (reason !== undefined) context.addIssue({ code: 'custom', message: reason });
  });

/** Variables of the script's own. They are visible in the declaration, the run and the job: no place for secrets. */
export const environmentSchema = refusingProto(
  z
    .record(variableName, argumentText)
    .refine((all) => Object.keys(all).length <= MOST_VARIABLES, `at most ${MOST_VARIABLES} variables`)
    .describe(
      'Environment variables of the script; values may have the placeholders of arguments. Not for secrets.',
    ),
);

export const environmentProblems = (environment: unknown, channels: readonly string[]) =>
  Object.entries(environment ?? {}).flatMap(([name, text]) =>
    (typeof text === 'string' ? placeholderProblems(text, channels) : []).map((message) => ({
      path: ['environment', name],
      message,
    })),
  );
