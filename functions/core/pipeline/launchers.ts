/** What a declaration says of launchers: their names, the section that each of them reads, and what excludes which. */
import * as z from 'zod';
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
  /** The section without which `cheapest` does not weigh this launcher; absent: it is always weighed. */
  readonly section?: Field | undefined;
  /** Fields that it cannot do without, each with what to write there. */
  readonly needs: readonly (readonly [field: Field, what: string])[];
  /** Fields that it cannot serve, each with the reason and the remedy. */
  readonly refuses: readonly (readonly [field: Field, message: string])[];
}

const DECLARATIONS: Readonly<Record<LauncherName, LauncherDeclaration>> = {
  sagemaker: { needs: [], refuses: [] },
  ec2: {
    section: 'ec2',
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
 * The launchers that placement weighs. With `cheapest` these are the declared ones; a pipeline that declares none is
 * asked about all of them, as a what-if does.
 */
export function launchersOf(compute: DeclaredCompute): readonly LauncherName[] {
  const { launcher = DEFAULT_LAUNCHER } = compute;
  // The field's own rule reports a name that no launcher has.
  if (launcher !== CHEAPEST) return LAUNCHERS.filter((name) => name === launcher);
  const declared = LAUNCHERS.filter((name) => isDeclared(compute, name));
  return declared.length > 1 ? declared : LAUNCHERS;
}

function isDeclared(compute: DeclaredCompute, name: LauncherName): boolean {
  const { section } = DECLARATIONS[name];
  return section === undefined || compute[section] !== undefined;
}

/** What a launcher needs and the pipeline lacks, and what the pipeline declares that its launcher cannot serve. */
export function launcherProblems(compute: DeclaredCompute): readonly (readonly [Field, string])[] {
  const { launcher = DEFAULT_LAUNCHER } = compute;
  const declarations = launchersOf(compute).map((name) => DECLARATIONS[name]);
  // With `cheapest`, placement leaves out the launcher that cannot serve a field, and says so.
  const refused =
    launcher === CHEAPEST
      ? []
      : declarations.flatMap(({ refuses }) => refuses).filter(([field]) => compute[field] !== undefined);
  const lacking = new Map(
    declarations.flatMap(({ needs }) => needs).filter(([field]) => compute[field] === undefined),
  );
  const needed = [...lacking].map(
    ([field, what]) => [field, `is needed with launcher: ${launcher}, name ${what}`] as const,
  );
  return [...refused, ...needed];
}
