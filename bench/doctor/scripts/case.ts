/** A script that the doctor judges, and how it takes a remedy. */
import type { Cause, Change } from '../../../functions/core/doctor/verdict.ts';
import type { Script } from '../../scripts/script.ts';

/** How a person would take a remedy. */
/** One line of a script, before and after. */
export type ChangedLine = readonly [string, string];

export interface Remedied {
  readonly arguments?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly line?: ChangedLine;
}

export interface Case {
  readonly name: string;
  /** One of ours in `written/`, or one of others as they have it. */
  readonly source: { readonly written: string } | { readonly script: Script };
  readonly arguments?: readonly string[];
  /** For a script without arguments that ends too soon: the lines that say when. */
  readonly lasting?: readonly ChangedLine[];
  /** What pip installs over the project's own packages. */
  readonly requirements?: readonly string[];
  /** Whichever of these a person would name; undefined: it is not known what holds it back. */
  readonly right?: readonly Cause[];
  /** undefined: the script has no such setting. */
  readonly remedied?: (change: Change) => Remedied | undefined;
}
