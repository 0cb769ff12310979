/** A verb of the command line: its words, its help, and what it does. */
import { type CommandSpec, readCommandLine } from '@tidewheel/kit/command-line.ts';
import { nearest } from '@tidewheel/kit/nearest.mjs';
import * as z from 'zod';
import { type Context, contextOf, type Surroundings } from './context.ts';

/** How the help and the completions of shells show an option. */
export interface VerbOption {
  readonly short?: string | undefined;
  /** What stands for the value, such as HOURS; undefined for an option that takes none. */
  readonly value?: string;
  /** One line of the help. */
  readonly about: string;
}

const shownAs = z.registry<VerbOption>();

export const flag = (about: string, short?: string) =>
  z.boolean().default(false).register(shownAs, { about, short });

/** A clone: one schema may serve several options. */
export function option<Schema extends z.ZodType>(
  value: string,
  about: string,
  schema: Schema,
  short?: string,
): Schema {
  const own = schema.clone();
  shownAs.add(own, { value, about, short });
  return own;
}

interface VerbSpec<Options extends z.ZodRawShape> {
  readonly name: string;
  /** One line of `tidewheel help`. */
  readonly summary: string;
  /** Paragraphs of the verb's own help, of lines of 120 columns at most. */
  readonly about?: string;
  /** A name that ends in `?` may be left out, one in `...` may come again. */
  readonly positionals?: readonly string[];
  /** What the first word may be, of a verb that does several things. */
  readonly commands?: readonly string[];
  /** Each by `flag` or `option`. */
  readonly options: Options;
  /** `none`: it needs no deployment, and takes no words that name one. */
  readonly deployment?: 'none';
  readonly check?: (
    positionals: readonly string[],
    values: ValuesOf<Options> | undefined,
    given: Readonly<Record<string, unknown>>,
  ) => readonly string[];
  /**
   * The screen of the page that says the same, with `--web`: what stands behind the `#` of its address.
   * @returns such as `/runs/digits-000042/log`
   */
  readonly web?: (words: Words<ValuesOf<Options>>, context: Context) => string | Promise<string>;
  /** Arguments after the verb, and what they do. */
  readonly examples: readonly (readonly [words: string, about: string])[];
  /** @returns the exit code */
  readonly run: (words: Words<ValuesOf<Options>>, context: Context) => Promise<number>;
}

export type ValuesOf<Options extends z.ZodRawShape> = z.output<z.ZodObject<Options>>;

interface Words<Values> {
  readonly values: Values;
  readonly positionals: readonly string[];
}

export interface Verb {
  readonly name: string;
  readonly summary: string;
  readonly options: Readonly<Record<string, VerbOption>>;
  /** What its first word may be; empty where that is a name of the person's own. */
  readonly commands: readonly string[];
  help(): string;
  /** @throws UsageError with every problem of the words */
  invoke(args: readonly string[], surroundings: Surroundings): Promise<number>;
}

const COMMON = {
  json: flag('one JSON document on standard output (docs/cli.md)'),
  help: flag('this text', 'h'),
};

const WEB = { web: flag('the same on the page, which is served on this machine until Ctrl-C') };

const PLACE = {
  stage: option(
    'STAGE',
    'the stack tidewheel-STAGE on AWS',
    z
      .string()
      .regex(/^[a-zA-Z][a-zA-Z0-9-]{0,63}$/, 'write the name of a stage, such as prod')
      .optional(),
  ),
  region: option(
    'REGION',
    "its region; default: AWS_REGION, or the profile's",
    z
      .string()
      .regex(/^[a-z]{2,}(-[a-z]+)+-\d+$/, 'write the name of a region, such as us-east-1')
      .optional(),
  ),
  state: option(
    'FOLDER',
    'the local region with its state in FOLDER',
    z.string().regex(/^[^-]/, 'name a folder').optional(),
  ),
};

const common = z.object({ ...WEB, ...PLACE, ...COMMON });

export function defineVerb<Options extends z.ZodRawShape>(spec: VerbSpec<Options>): Verb {
  const { positionals = [], commands = [] } = spec;
  const further: z.ZodRawShape = {
    ...(spec.web && WEB),
    ...(spec.deployment !== 'none' && PLACE),
    ...COMMON,
  };
  const options = shownIn({ ...spec.options, ...further });
  const commandLine: CommandSpec<z.ZodIntersection<z.ZodObject<Options>, z.ZodObject>> = {
    schema: z.intersection(z.object(spec.options), z.object(further)),
    short: shortOf(options),
    positionals,
    check: (words, ...values) => [
      ...noCommand(words[0], commands),
      ...(spec.check?.(words, ...values) ?? []),
    ],
  };
  return {
    name: spec.name,
    summary: spec.summary,
    options,
    commands,
    help: () => helpOf(spec, options),
    invoke: async (args, surroundings) => {
      const words = readCommandLine(args, commandLine);
      const { web, ...given } = common.parse(words.values);
      const context = contextOf(surroundings, given);
      if (spec.web === undefined || !web) return spec.run(words, context);
      const screen = await spec.web(words, context);
      // Only now: the page is built when it is loaded.
      const { serveScreen } = await import('./serve-screen.ts');
      return serveScreen(context, { screen });
    },
  };
}

const shownIn = (schemas: z.ZodRawShape): Verb['options'] =>
  Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => [name, shownAs.get(schema) ?? { about: '' }]),
  );

const shortOf = (options: Verb['options']): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(options).flatMap(([name, { short }]) => (short === undefined ? [] : [[name, short]])),
  );

function noCommand(word: string | undefined, commands: readonly string[]): string[] {
  if (word === undefined || commands.length === 0 || commands.includes(word)) return [];
  const near = nearest(word, commands);
  const hint = near === undefined ? `the commands are ${commands.join(', ')}` : `did you mean ${near}?`;
  return [`there is no command "${word}": ${hint}`];
}

function helpOf<Options extends z.ZodRawShape>(spec: VerbSpec<Options>, options: Verb['options']): string {
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
