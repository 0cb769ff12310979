/** A training script of others, and how it is tried. */
import type { Pipeline } from '@tidewheel/declaration/pipeline.ts';

/** A script that a package's source archive has, or one of ours after a framework's documentation. */
export type Origin =
  | {
      /** As pip reads it: `name==version --hash=sha256:…`, the hash of the source archive. */
      readonly release: string;
      /** Below the archive's first folder; what lies beside it comes along. */
      readonly file: string;
      /** False: the script needs another release than the one that ships it. */
      readonly isInstalled?: false;
    }
  | { readonly written: string; readonly documentation: string };

export interface Script {
  readonly name: string;
  readonly origin: Origin;
  /** What pip installs over the project's own packages, beside the release that ships the script. */
  readonly requirements?: readonly string[];
  readonly arguments?: Pipeline['training']['arguments'];
  readonly environment?: Readonly<Record<string, string>>;
  /** The folder of the source in which it lies and runs; undefined: the source itself. */
  readonly within?: string;
  /** Images in small files like MNIST's, in this folder of the source. */
  readonly mnist?: { readonly folder: string; readonly count: number };
  /** `automatic` for a script that saves nothing; undefined: the agent's own rules. */
  readonly checkpoint?: Pipeline['training']['checkpoint'];
  /** With what the script ends, below its folder; undefined: the parameters of its PyTorch optimizers. */
  readonly result?: string;
}

/** `name==version` */
export const releaseName = (release: string): string => release.replace(/ .*/, '');

/** All that pip installs for the script. */
export const requirementsOf = ({ origin, requirements = [] }: Script): readonly string[] =>
  'release' in origin && origin.isInstalled !== false
    ? [releaseName(origin.release), ...requirements]
    : requirements;

/** For tables; `written` for one of ours. */
export const originText = (origin: Origin): string =>
  'written' in origin ? 'written' : releaseName(origin.release).replace('==', ' ');
