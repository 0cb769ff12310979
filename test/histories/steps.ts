/** What happens in a history, as the model reads it. */

import type { OnDelete } from '@tidewheel/declaration/pipeline.ts';
import type { BlobStore } from '@tidewheel/packing/store.ts';

export interface Step {
  readonly kind:
    | 'put'
    | 'junk'
    | 'bundle'
    | 'delete'
    | 'run'
    | 'compact'
    | 'retract'
    | 'prune'
    | 'declare'
    | 'clean'
    | 'repair'
    | 'giveUp'
    | 'annotate';
  readonly key?: string;
  /** The key of a run was retracted before its plan, behind it, when its seal had looked, or after all. */
  readonly when?: 'before' | 'planned' | 'sealed' | 'after' | undefined;
  /** Keys that a run planned, and that had changed when it packed. */
  readonly missed?: readonly string[];
  readonly body?: string;
  /** None where S3's is the MD5 of the body. */
  readonly etag?: string | undefined;
  /** Keys and bodies of a bundle. */
  readonly files?: Readonly<Record<string, string>>;
  /** Samples and their labels. */
  readonly rows?: readonly Row[];
  /** What a new declaration says. */
  readonly onDelete?: OnDelete;
  /** Keys of a generation that was given up, without retracted ones. */
  readonly packed?: readonly string[];
  readonly rejected?: readonly string[];
  /** What `whenDone: delete` has left, and how far it came. */
  readonly cleaned?: Cleaned;
  /** Name, bytes in base64 and generation, of the newest version after a step that may change it. */
  shards?: readonly (readonly [name: string, body: string, generation: string])[];
  /** Generations of it whose compaction left samples out. */
  thinned?: readonly string[];
  /** Generations for which something had changed after it was planned. */
  incomplete?: readonly string[];
}

export type Row = readonly [stem: string, label: string];

interface Cleaned {
  readonly isBegun: boolean;
  readonly isWhole: boolean;
  readonly objects: readonly string[];
  /** Each with its files. */
  readonly bundles: readonly Readonly<Record<string, string>>[];
}

/** Starts over after every kill. */
export type Persist = (work: (store: BlobStore) => Promise<unknown>) => Promise<boolean>;
