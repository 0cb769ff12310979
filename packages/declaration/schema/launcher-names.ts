/** What a declaration says of launchers: their names, the section that each of them reads, and what excludes which. */
import * as z from 'zod';
import { ec2TypeProblem, trainingTypeProblem } from '../types/known-types.ts';
import { ec2Schema } from './compute-parts.ts';

/** The first one is the default. */
export const LAUNCHERS = ['sagemaker', 'ec2'] as const;
export type LauncherName = (typeof LAUNCHERS)[number];
export const DEFAULT_LAUNCHER: LauncherName = LAUNCHERS[0];

/** In a declaration: placement weighs every launcher that the pipeline declares, before each attempt. */
export const CHEAPEST = 'cheapest';
export const DECLARED_LAUNCHERS = [...LAUNCHERS, CHEAPEST] as const;
export type DeclaredLauncher = (typeof DECLARED_LAUNCHERS)[number];

/** Sections of `compute` that one launcher alone reads. */
export const launcherSections = { ec2: ec2Schema.optional() } as const;

export const launcherField = z
  .enum(DECLARED_LAUNCHERS)
  .optional()
  .describe(
    'Where the job runs: sagemaker (the default), ec2 for instances of your own account, or cheapest: placement weighs both, each time.',
  );

/** The parts of `compute` that the rules below read; other modules validate what stands in them. */
interface DeclaredCompute {
  readonly launcher?: DeclaredLauncher | undefined;
  readonly ec2?: unknown;
  readonly vpc?: unknown;
  readonly regions?: unknown;
  readonly helpers?: unknown;
  readonly mayAddHelpers?: unknown;
}

type Field = Exclude<keyof DeclaredCompute, 'launcher'>;

interface LauncherDeclaration {
  /** Whether it chooses a container image by `training.framework`, where the pipeline names none. */
  readonly choosesImage: boolean;
  /** The section without which `cheapest` does not weigh this launcher; absent: it is always weighed. */
  readonly section?: Field | undefined;
  /** Why it cannot launch an instance type. */
  readonly typeProblem: (type: string) => string | undefined;
  /** Fields that it cannot do without, each with what to write there. */
  readonly needs: readonly (readonly [field: Field, what: string])[];
  /** Fields that it cannot serve, each with the reason and the remedy. */
  readonly refuses: readonly (readonly [field: Field, message: string])[];
}

const DECLARATIONS: Readonly<Record<LauncherName, LauncherDeclaration>> = {
  sagemaker: { choosesImage: true, typeProblem: trainingTypeProblem, needs: [], refuses: [] },
  ec2: {
    choosesImage: false,
    section: 'ec2',
    typeProblem: ec2TypeProblem,
    needs: [
      ['ec2', 'the image of its hosts'],
      ['vpc', 'subnets and securityGroupIds'],
    ],
    refuses: [
      [
        'mayAddHelpers',
        'one fleet of EC2 has one instance type: leave it out, or let SageMaker launch, which has groups of instances',
      ],
      [
        'regions',
        'hosts on EC2 run in the region of the data bucket only: leave it out, or let SageMaker launch',
      ],
      [
        'helpers',
        'one fleet of EC2 has one instance type: leave them out, or let SageMaker launch, which has groups of instances',
      ],
    ],
  },
};

/**
 * The launchers that placement weighs. With `cheapest` these are the declared ones. A pipeline that declares none gets
 * all of them, as in a what-if.
 */
export function launchersOf(compute: DeclaredCompute): readonly LauncherName[] {
  const { launcher = DEFAULT_LAUNCHER } = compute;
  // The field's own rule reports a name that no launcher has.
  if (launcher !== CHEAPEST) return LAUNCHERS.filter((name) => name === launcher);
  const declared = declaredIn(compute);
  return declared.length > 1 ? declared : LAUNCHERS;
}

/** Whether one of the launchers that placement weighs chooses an image by `training.framework`. */
export const choosesImage = (compute: DeclaredCompute): boolean =>
  launchersOf(compute).some((name) => DECLARATIONS[name].choosesImage);

/** Why none of the launchers that placement weighs has the instance type; undefined if one of them has. */
export function typeProblem(compute: DeclaredCompute, type: string): string | undefined {
  const problems = launchersOf(compute).map((name) => DECLARATIONS[name].typeProblem(type));
  return problems.includes(undefined) ? undefined : problems.at(-1);
}

const declaredIn = (compute: DeclaredCompute): readonly LauncherName[] =>
  LAUNCHERS.filter((name) => {
    const { section } = DECLARATIONS[name];
    return section === undefined || compute[section] !== undefined;
  });

type FieldProblem = readonly [field: Field | 'launcher', message: string];

/** What a launcher needs and the pipeline lacks, and what the pipeline declares that its launcher cannot serve. */
export function launcherProblems(compute: DeclaredCompute): readonly FieldProblem[] {
  const { launcher = DEFAULT_LAUNCHER } = compute;
  const lacks = (name: LauncherName) =>
    DECLARATIONS[name].needs.filter(([field]) => compute[field] === undefined);
  // With `cheapest`, placement leaves out the launcher that cannot serve a field, and says so.
  const refused =
    launcher === CHEAPEST
      ? []
      : launchersOf(compute)
          .flatMap((name) => DECLARATIONS[name].refuses)
          .filter(([field]) => compute[field] !== undefined);
  if (launcher === CHEAPEST && declaredIn(compute).length === 1) return [nothingToCompare(lacks)];
  const needed = new Map(launchersOf(compute).flatMap(lacks));
  return [
    ...refused,
    ...[...needed].map(
      ([field, what]) => [field, `is needed with launcher: ${launcher}, name ${what}`] as const,
    ),
  ];
}

function nothingToCompare(
  lacks: (name: LauncherName) => readonly (readonly [field: Field, what: string])[],
): FieldProblem {
  const others = LAUNCHERS.filter((name) => DECLARATIONS[name].section !== undefined);
  const remedies = others.map((name) => lacks(name).map(([field, what]) => `compute.${field} (${what})`));
  const declare = remedies.map((fields) => fields.join(' and ')).join(', or ');
  return ['launcher', `${CHEAPEST} has nothing to compare: declare ${declare}, or leave it out`];
}
