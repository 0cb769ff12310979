/** The frameworks that AWS's training images have, by the SageMaker SDK's names of its estimators. */

export const FRAMEWORKS = ['pytorch', 'tensorflow', 'huggingface', 'sklearn', 'xgboost'] as const;
export type Framework = (typeof FRAMEWORKS)[number];

interface FrameworkTraits {
  /** Where the declaration names none. It stays: another one would change what deployed pipelines train with. */
  readonly version: string;
  /** The framework of strategies that its images have. */
  readonly has: 'pytorch' | 'tensorflow' | undefined;
}

const TRAITS: Readonly<Record<Framework, FrameworkTraits>> = {
  pytorch: { version: '2.13', has: 'pytorch' },
  tensorflow: { version: '2.21', has: 'tensorflow' },
  huggingface: { version: '5.3.0', has: 'pytorch' },
  sklearn: { version: '1.9-0', has: undefined },
  xgboost: { version: '3.2-0', has: undefined },
};

export const frameworkHas = (framework: Framework): FrameworkTraits['has'] => TRAITS[framework].has;

/** The version whose image trains. */
export const frameworkVersionOf = ({
  framework,
  frameworkVersion,
}: {
  readonly framework: Framework;
  readonly frameworkVersion?: string | undefined;
}): string => frameworkVersion ?? TRAITS[framework].version;
