/** Variables of the script's own. They are visible in the declaration, the run and the job: no place for secrets. */

import { refusingProto } from '@tidewheel/kit/tables.ts';
import * as z from 'zod';
import { argumentText } from './arguments.ts';
import { placeholderProblems } from './placeholders.ts';

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
