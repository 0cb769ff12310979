/** A local region, or a stack on AWS. */
import type { StackView } from '../../functions/check/account-view.ts';

/** The deployment that a command works with. */
export interface ChosenDeployment {
  readonly kind: 'local' | 'aws';
  /** How it is named to a person. */
  readonly title: string;
  readonly stage: string;
  readonly region: string;
  readonly bucket: string;
  readonly table: string;
  /** Without a slash at its end. */
  readonly apiUrl: string;
  readonly stack: StackView;
  /** Only a local region has one. */
  readonly stateDirectory?: string | undefined;
}
