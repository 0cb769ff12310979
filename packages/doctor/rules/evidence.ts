/** What the agent measures of an attempt, and what is known of its job. */
import type { InstanceFacts } from '@tidewheel/catalog/catalog.ts';
import type { EvidencePoint, ScriptLines } from '@tidewheel/contract/evidence.ts';
import type { Pipeline } from '@tidewheel/declaration/pipeline.ts';

/** Seconds of each phase from the start of the host to the first step. */
export interface Phases {
  readonly download: number;
  /** Download of the training image. */
  readonly image?: number | undefined;
  readonly install: number;
  readonly scriptStart: number;
  readonly firstBatch: number;
  readonly firstStep: number;
}

/** A type with its price, wherever it is bought. */
export interface PricedType {
  readonly facts: InstanceFacts;
  readonly usdPerSecond: number;
}

export interface Evidence {
  readonly points: readonly EvidencePoint[];
  readonly phases: Phases;
  /**
   * What a resumed attempt read again before its first step, beyond what the run's first start read there, and who wrote
   * the checkpoint. Absent where nothing was read again.
   */
  readonly skipped?: { readonly seconds: number; readonly format?: string | undefined } | undefined;
  /** Where remedies in the script belong; absent where no hook has found it. */
  readonly lines?: ScriptLines | undefined;
  /** What the training channel holds, downloaded or streamed. */
  readonly data: { readonly bytes: number; readonly files: number };
  readonly inputMode: 'File' | 'FastFile';
  /** What every host is. */
  readonly instance: PricedType;
  /** Types that could replace it. */
  readonly alternatives: readonly PricedType[];
  /** What the run was declared with: no remedy says it again. Absent where nothing tells. */
  readonly declaration?: Pipeline | undefined;
  /** Steps of the whole job, over which a gain is counted. */
  readonly steps: number;
  /** Runs of the last 30 days that read these data or a part of them; absent where nothing tells. */
  readonly runsPerMonth?: number | undefined;
}

/** Alternatives that train as fast, with other CPUs, memory, network or disks. */
export const withSameAccelerators = ({ alternatives, instance }: Evidence): readonly PricedType[] =>
  alternatives.filter(
    ({ facts }) =>
      facts.accelerator === instance.facts.accelerator &&
      facts.acceleratorCount === instance.facts.acceleratorCount,
  );
