/**
 * Rejections that follow from the declaration and the key alone, or from a kind of label that is declared. Once the
 * declaration is another one, such an arrival may be packed after all.
 */
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import type { Manifest } from '../documents/manifest.ts';
import type { Rejection } from '../documents/rejections.ts';
import type { IsIgnored } from './ignored-files.ts';

const DECLARED = ['ignored', 'suffixNotAccepted', 'labelNotAnInteger'] as const;

export const isAccepted = (key: string, { accept }: Pick<PackingSettings, 'accept'>): boolean =>
  accept?.some((suffix) => key.toLowerCase().endsWith(suffix.toLowerCase())) ?? true;

/** Whether a rejection of an earlier run does not hold under the present declaration. */
export type IsLapsed = (key: string, reason: Rejection) => boolean;

export interface Declared {
  readonly incoming: string;
  readonly settings: PackingSettings;
  /** Of keys without the incoming prefix. */
  readonly isIgnored: IsIgnored;
}

export const lapsedUnder =
  ({ incoming, settings, isIgnored }: Declared): IsLapsed =>
  (key, reason) => {
    if (reason === 'ignored') return !isIgnored(key.slice(incoming.length));
    if (reason === 'suffixNotAccepted') return isAccepted(key.slice(incoming.length), settings);
    return reason === 'labelNotAnInteger' && settings.labelType !== 'integer';
  };

/** The part of a declaration from which these rejections follow, for a comparison. */
export const rejectingRules = ({ accept, ignore, labelType }: PackingSettings): string =>
  JSON.stringify({ accept, ignore, labelType });

export const hasDeclaredRejections = (manifests: readonly Manifest[]): boolean =>
  manifests.some(({ rejections }) => DECLARED.some((reason) => rejections.byReason[reason] !== undefined));
