/** A verb of the command line: its words, its help, and what it does. */
import { type CommandSpec, readCommandLine } from '@tidewheel/kit/command-line.ts';
import { nearest } from '@tidewheel/kit/nearest.mjs';
import * as z from 'zod';
import { type Context, contextOf, type Surroundings } from './context.ts';

export interface VerbOption {
  readonly type: 'string' | 'boolean';
  readonly multiple?: boolean;
  readonly short?: string;
  /** What stands for the value in the help, such as HOURS. */
  readonly value?: string;
  /** One line of the help. */
  readonly about: string;
}

type VerbOptions = Readonly<Record<string, VerbOption>>;

interface VerbSpec<Schema extends z.ZodType> {
  readonly name: string;
  /** One line of `tidewheel help`. */
  readonly summary: string;
  /** Paragraphs of the verb's own help, of lines of 120 columns at most. */
  readonly about?: string;
  /** A name that ends in `?` may be left out, one in `...` may come again. */
  readonly positionals?: readonly string[];
  /** What the first word may be, of a verb that does several things. */
  readonly commands?: readonly string[];
  readonly options?: VerbOptions;
  /** `none`: it needs no deployment, and takes no words that name one. */
  readonly deployment?: 'none';
  readonly schema: Schema;
  readonly check?: (
    positionals: readonly string[],
    values: z.output<Schema> | undefined,
  ) => readonly string[];
  /**
   * The screen of the page that says the same, with `--web`: what stands behind the `#` of its address.
   * @returns such as `/runs/digits-000042/log`
   */
  readonly web?: (words: Words<z.output<Schema>>, context: Context) => string | Promise<string>;
  /** Arguments after the verb, and what they do. */
  readonly examples: readonly (readonly [words: string, about: string])[];
  /** @returns the exit code */
  readonly run: (words: Words<z.output<Schema>>, context: Context) => Promise<number>;
}

interface Words<Values> {
  readonly values: Values;
  readonly positionals: readonly string[];
}

export interface Verb {
  readonly name: string;
  readonly summary: string;
  readonly options: VerbOptions;
  /** What its first word may be; empty where that is a name of the person's own. */
  readonly commands: readonly string[];
  help(): string;
  /** @throws UsageError with every problem of the words */
  invoke(args: readonly string[], surroundings: Surroundings): Promise<number>;
}

const COMMON: VerbOptions = {
  json: { type: 'boolean', about: 'one JSON document on standard output (docs/cli.md)' },
  help: { type: 'boolean', short: 'h', about: 'this text' },
};

const WEB: VerbOptions = {
  web: { type: 'boolean', about: 'the same on the page, which is served on this machine until Ctrl-C' },
};

const PLACE: VerbOptions = {
  stage: { type: 'string', value: 'STAGE', about: 'the stack tidewheel-STAGE on AWS' },
  region: { type: 'string', value: 'REGION', about: "its region; default: AWS_REGION, or the profile's" },
  state: { type: 'string', value: 'FOLDER', about: 'the local region with its state in FOLDER' },
};

const common = z.object({
  json: z.boolean().default(false),
  web: z.boolean().default(false),
  stage: z
    .string()
    .regex(/^[a-zA-Z][a-zA-Z0-9-]{0,63}$/, 'write the name of a stage, such as prod')
    .optional(),
  region: z
    .string()
    .regex(/^[a-z]{2,}(-[a-z]+)+-\d+$/, 'write the name of a region, such as us-east-1')
    .optional(),
  state: z.string().regex(/^[^-]/, 'name a folder').optional(),
});

export function defineVerb<Schema extends z.ZodType>(spec: VerbSpec<Schema>): Verb {
  const { positionals = [], commands = [] } = spec;
  const options: VerbOptions = {
    ...spec.options,
    ...(spec.web === undefined ? {} : WEB),
    ...(spec.deployment === 'none' ? {} : PLACE),
    ...COMMON,
  };
  const commandLine: CommandSpec<z.ZodIntersection<Schema, typeof common>> = {
    options,
    schema: z.intersection(spec.schema, common),
    positionals,
    check: (words, values) => [...noCommand(words[0], commands), ...(spec.check?.(words, values) ?? [])],
  };
  return {
    name: spec.name,
    summary: spec.summary,
    options,
    commands,
    help: () => helpOf(spec, options),
    invoke: async (args, surroundings) => {
      const words = readCommandLine(args, commandLine);
      const context = contextOf(surroundings, words.values);
      if (spec.web === undefined || !words.values.web) return spec.run(words, context);
      const screen = await spec.web(words, context);
      // Only now: the page is built when it is loaded.
      const { serveScreen } = await import('./serve-screen.ts');
      return serveScreen(context, { screen });
    },
  };
}

function noCommand(word: string | undefined, commands: readonly string[]): string[] {
  if (word === undefined || commands.length === 0 || commands.includes(word)) return [];
  const near = nearest(word, commands);
  const hint = near === undefined ? `the commands are ${commands.join(', ')}` : `did you mean ${near}?`;
  return [`there is no command "${word}": ${hint}`];
}

function helpOf<Schema extends z.ZodType>(spec: VerbSpec<Schema>, options: VerbOptions): string {
  const names = (spec.positionals ?? []).map((name) => (/[?]$/.test(name) ? `[${name.slice(0, -1)}]` : name));
  const heads = new Map(Object.entries(options).map(([name, option]) => [optionHead(name, option), option]));
  const width = Math.max(...[...heads.keys()].map(({ length }) => length));
  const lineWidth = Math.max(0, ...spec.examples.map(([words]) => `tidewheel ${spec.name} ${words}`.length));
  return [
    `tidewheel ${[spec.name, ...names, '[OPTIONS]'].join(' ')}`,
    '',
    `${spec.summary[0]?.toUpperCase()}${spec.summary.slice(1)}.`,
    ...(spec.about === undefined ? [] : ['', spec.about.replace(/^\n/, '').trimEnd()]),
    '',
    ...[...heads].map(([head, { about }]) => `  ${head.padEnd(width)}  ${about}`),
    '',
    'Examples:',
    ...spec.examples.map(
      ([words, about]) => `  ${`tidewheel ${spec.name} ${words}`.trimEnd().padEnd(lineWidth)}  ${about}`,
    ),
  ].join('\n');
}

const optionHead = (name: string, { short, value }: VerbOption): string =>
  `${short === undefined ? '' : `-${short}, `}--${name}${value === undefined ? '' : ` ${value}`}`;
