/** What a pipeline declares that its strategy cannot use, and what the strategy needs and the pipeline lacks. */
import { choosesImage } from './launchers.ts';
import { isStrategy, type Strategy, strategiesWith, strategyTraits } from './strategies.ts';

interface StrategyProblem {
  readonly path: string[];
  readonly message: string;
}

interface Declared {
  readonly training?: {
    readonly strategy: string;
    readonly framework: string;
    readonly image?: string | undefined;
  };
  readonly compute?: Parameters<typeof choosesImage>[0];
}

/** The agent refuses these too, but on hosts that are then paid for. */
export function strategyProblems({ training, compute }: Declared): StrategyProblem[] {
  // The schema reports parts that are missing, and a strategy that it does not know.
  const strategy = training?.strategy;
  if (!training || !isStrategy(strategy) || !compute) return [];
  const { dataPreparedBy } = strategyTraits[strategy];
  const problems: StrategyProblem[] = [];
  if (dataPreparedBy === 'helpers' && compute.helpers === undefined)
    problems.push({
      path: ['compute', 'helpers'],
      message: `is needed by training.strategy ${strategy}, whose data is prepared there: name the helpers, which SageMaker alone launches, or use another strategy`,
    });
  if (dataPreparedBy !== 'allHosts' && compute.mayAddHelpers !== undefined)
    problems.push({
      path: ['compute', 'mayAddHelpers'],
      message: `training.strategy ${strategy} cannot gain and lose helpers between attempts: name them in compute.helpers, or use ${strategiesWith((traits) => traits.dataPreparedBy === 'allHosts')}`,
    });
  return [...problems, ...frameworkProblems(strategy, training, compute)];
}

function frameworkProblems(
  strategy: Strategy,
  { framework, image }: NonNullable<Declared['training']>,
  compute: NonNullable<Declared['compute']>,
): StrategyProblem[] {
  const needed = strategyTraits[strategy].framework;
  if (needed === 'any' || needed === framework || image !== undefined || !choosesImage(compute)) return [];
  return [
    {
      path: ['training', 'framework'],
      message: `is ${framework}, and training.strategy ${strategy} needs ${needed}: write framework: ${needed} with its frameworkVersion, or name an image`,
    },
  ];
}
