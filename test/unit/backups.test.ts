/** The backups that the service makes: their schedule, names and retention, the disks, and the signatures of S3. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import test from 'node:test';
import fc from 'fast-check';
import {
  backupNameOf,
  parseBucket,
  parseS3Text,
  readBackupName,
} from '../../src/features/backups/domain/backup.ts';
import {
  backupsToRemove,
  isBackupDue,
  nextBackupAttempt,
} from '../../src/features/backups/domain/schedule.ts';
import { parseBucketHost } from '../../src/features/backups/delivery/s3-target.ts';
import {
  emptyHash,
  signAwsRequest,
  type AwsRequest,
} from '../../src/features/backups/platform/aws-signature.ts';
import { mountOf, otherDisks, parseMounts } from '../../src/platform/mounts.ts';
import { Secret } from '../../src/platform/secret.ts';

const hour = 60 * 60_000;
const day = 24 * hour;
const start = Date.UTC(2026, 10, 23, 12);

test('the name of a backup contains its time and the id of its sheet', () => {
  const name = backupNameOf(Date.UTC(2026, 10, 23, 18, 0, 5, 999), '7F3A');
  assert.equal(name, 'largesse-20261123T180005Z-7F3A.tar.zst.age');
  assert.deepEqual(readBackupName(name), { at: Date.UTC(2026, 10, 23, 18, 0, 5), sheet: '7F3A' });
  for (const other of [
    '',
    'largesse.db',
    `${name}.partial`,
    `x${name}`,
    name.toLowerCase(),
    name.replace('1123', '1399'),
  ])
    assert.equal(readBackupName(other), undefined, other);
});

/** Names with random times in the last 80 days, some of which were not verified. */
const anyBackups = fc
  .array(fc.tuple(fc.integer({ min: -2 * hour, max: 80 * day }), fc.boolean()), { maxLength: 300 })
  .map((each) => [
    ...new Map(each.map(([age, isVerified]) => [backupNameOf(start - age, 'AAAA'), isVerified])),
  ]);

test('retention keeps the newest of each hour and day, never removes the newest one, and ends after 30 days', () => {
  fc.assert(
    fc.property(anyBackups, (backups) => {
      const present = backups.map(([name]) => name);
      const verified = backups.filter(([, is]) => is).map(([name]) => ({ name }));
      const removed = new Set(backupsToRemove({ verified, present }, start));
      const atOf = (name: string): number => readBackupName(name)?.at ?? 0;
      const names = verified.map(({ name }) => name).toSorted((left, right) => atOf(right) - atOf(left));
      const [newest] = names;
      if (newest !== undefined) assert.ok(!removed.has(newest));
      const kept = names.filter((name) => !removed.has(name));
      assert.ok(kept.length <= 24 + 1 + 31 + 2, `${kept.length} are kept`);
      for (const name of kept) if (name !== newest) assert.ok(start - atOf(name) < 30 * day, name);
      for (const period of [hour, day]) {
        const length = period === hour ? 24 * hour : 30 * day;
        const newestOf = new Map<number, string>();
        for (const name of names.toReversed()) newestOf.set(Math.floor(atOf(name) / period), name);
        for (const name of newestOf.values())
          if (start - atOf(name) < length) assert.ok(!removed.has(name), name);
      }
      for (const [name, isVerified] of backups)
        if (!isVerified) assert.equal(removed.has(name), start - atOf(name) >= 30 * day, name);
      // A second run removes nothing more.
      const rest = present.filter((name) => !removed.has(name));
      assert.deepEqual(
        backupsToRemove(
          { verified: verified.filter(({ name }) => !removed.has(name)), present: rest },
          start,
        ),
        [],
      );
    }),
    { numRuns: 300 },
  );
});

test('retention ignores files that are not backups, and bounds hourly backups of months', () => {
  const present = Array.from({ length: 60 * 24 }, (_, age) => backupNameOf(start - age * hour, 'AAAA'));
  const verified = present.map((name) => ({ name }));
  const removed = backupsToRemove({ verified, present: [...present, 'photos.zip', 'largesse.db'] }, start);
  assert.ok(!removed.includes('photos.zip') && !removed.includes('largesse.db'));
  const kept = present.length - removed.length;
  assert.ok(kept >= 24 + 28 && kept <= 24 + 31, String(kept));
});

test('a backup is due in each hour, or in each night after three', () => {
  const paris = { timeZone: 'Europe/Paris' };
  const at = (text: string): number => Temporal.ZonedDateTime.from(`${text}[Europe/Paris]`).epochMilliseconds;
  const nightly = (last: string, now: string): boolean =>
    isBackupDue('nightly', { last: at(last), now: at(now), ...paris });
  assert.equal(nightly('2026-11-23T03:30', '2026-11-23T23:59'), false);
  assert.equal(nightly('2026-11-23T03:30', '2026-11-24T02:59'), false);
  assert.equal(nightly('2026-11-23T03:30', '2026-11-24T03:00'), true);
  assert.equal(nightly('2026-11-23T14:00', '2026-11-24T03:00'), true);
  assert.equal(nightly('2026-11-20T03:00', '2026-11-23T12:00'), true, 'the machine was off');
  const hourly = (last: number, now: number): boolean => isBackupDue('hourly', { last, now, ...paris });
  assert.equal(hourly(start, start + hour - 1), false);
  assert.equal(hourly(start + hour - 1, start + hour), true);
  for (const rhythm of ['nightly', 'hourly'] as const) {
    assert.equal(isBackupDue(rhythm, { last: null, now: start, ...paris }), true);
    assert.equal(
      isBackupDue(rhythm, { last: start + 2 * day, now: start, ...paris }),
      true,
      'the clock was set back',
    );
    assert.equal(isBackupDue(rhythm, { last: start + 60_000, now: start, ...paris }), false);
  }
});

test('the pause after failures grows to three hours', () => {
  const pauses = [1, 2, 3, 4, 5, 100].map(
    (failures) => nextBackupAttempt(failures, { now: 0, random: 0.5 }) / 60_000,
  );
  assert.deepEqual(pauses, [4.375, 17.5, 52.5, 157.5, 157.5, 157.5]);
});

const credentials = {
  keyId: 'AKIAIOSFODNN7EXAMPLE',
  secret: new Secret('wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY'),
  region: 'us-east-1',
};
const host = 'examplebucket.s3.amazonaws.com';

/** The examples of https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html */
const vectors: readonly (readonly [AwsRequest, string])[] = [
  [
    {
      method: 'GET',
      path: '/test.txt',
      query: {},
      headers: { Host: host, Range: 'bytes=0-9' },
      bodyHash: emptyHash,
    },
    'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
  ],
  [
    {
      method: 'PUT',
      path: '/test%24file.text',
      query: {},
      headers: {
        Host: host,
        Date: 'Fri, 24 May 2013 00:00:00 GMT',
        'x-amz-storage-class': 'REDUCED_REDUNDANCY',
      },
      bodyHash: createHash('sha256').update('Welcome to Amazon S3.').digest('hex'),
    },
    '98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd',
  ],
  [
    { method: 'GET', path: '/', query: { lifecycle: '' }, headers: { Host: host }, bodyHash: emptyHash },
    'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543',
  ],
  [
    {
      method: 'GET',
      path: '/',
      query: { prefix: 'J', 'max-keys': '2' },
      headers: { Host: host },
      bodyHash: emptyHash,
    },
    '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7',
  ],
];

test('requests to S3 are signed as in the examples of its documentation', () => {
  for (const [request, signature] of vectors) {
    const { authorization } = signAwsRequest(request, credentials, Date.UTC(2013, 4, 24));
    assert.match(authorization ?? '', new RegExp(`Signature=${signature}$`));
  }
});

test('the address, the bucket and the key of S3 are parsed strictly', () => {
  assert.deepEqual(parseBucketHost('https://S3.EU-Central-1.amazonaws.com/'), {
    ok: true,
    value: { host: 's3.eu-central-1.amazonaws.com', port: 443 },
  });
  assert.deepEqual(parseBucketHost('minio.example.com:9000'), {
    ok: true,
    value: { host: 'minio.example.com', port: 9_000 },
  });
  for (const text of [
    '',
    'http://s3.example.com',
    'ftp://s3.example.com',
    's3.example.com/bucket',
    's3.example.com?x',
    'a@s3.example.com',
    '127.0.0.1',
    '2130706433',
    '[::1]',
    'localhost',
    's3.local',
    's3',
    's3 .example.com',
    `${'a.'.repeat(200)}com`,
  ])
    assert.ok(!parseBucketHost(text).ok, text);
  for (const text of ['abc', 'a.b-c.1']) assert.ok(parseBucket(text).ok, text);
  for (const text of ['', 'ab', 'a/b', 'a..b', '.ab', 'ABC', 'a'.repeat(64), 'a%2fb'])
    assert.ok(!parseBucket(text).ok, text);
  for (const text of ['', 'a b', 'ü', 'x'.repeat(201), 'a\nb']) assert.ok(!parseS3Text(text).ok, text);
});

const mountinfo = `22 28 0:20 / /proc rw,nosuid - proc proc rw
28 1 8:2 / / rw,relatime shared:1 - ext4 /dev/sda2 rw,errors=remount-ro
30 28 8:1 / /boot rw - vfat /dev/sda1 rw
31 28 8:5 / /data rw - ext4 /dev/sda5 rw
40 28 8:17 / /media/shop/USB\\040DISK rw,nosuid shared:2 - vfat /dev/sdb1 rw
41 28 8:33 / /mnt/readonly ro - ext4 /dev/sdc1 ro
42 28 0:44 / /mnt/nas rw - nfs4 nas.example:/backup rw
43 28 0:45 / /tmp rw - tmpfs tmpfs rw
44 28 0:46 / /snap/core ro - squashfs /dev/loop0 ro
45 28 8:2 /var/lib /srv/bind rw - ext4 /dev/sda2 rw
46 28 8:49 / /mnt/over rw - ext4 /dev/sdd1 rw
47 46 0:47 / /mnt/over rw - tmpfs tmpfs rw
broken line
48 28 8:65 / /mnt/broken rw
`;

test('the list of disks has those that a person connects, and not that of the database', () => {
  const mounts = parseMounts(mountinfo);
  const wholeDisk = (device: string): string =>
    device.startsWith('8:') && Number(device.slice(2)) < 16 ? 'sda' : device;
  const paths = (folder: string): readonly string[] =>
    otherDisks(folder, mounts, wholeDisk).map(({ path }) => path);
  assert.deepEqual(paths('/var/lib/largesse/largesse.db'), ['/media/shop/USB DISK', '/mnt/nas']);
  assert.deepEqual(paths('/mnt/nas/largesse.db'), ['/', '/data', '/media/shop/USB DISK', '/srv/bind']);
  assert.equal(mountOf('/mnt/over/x', mounts)?.type, 'tmpfs', 'the last mount over another one counts');
  assert.equal(mountOf('/media/shop/USB DISK', mounts)?.source, '/dev/sdb1');
  assert.equal(mountOf('/mnt/nasty', mounts)?.path, '/');
  assert.deepEqual(otherDisks('/x', []), []);
});

test('volumes of one pool are one disk, although their device numbers differ', () => {
  const mounts = parseMounts(
    '1 0 0:30 /@ / rw - btrfs /dev/sda3 rw\n2 1 0:31 /@backup /backup rw - btrfs /dev/sda3 rw\n3 1 0:32 / /other rw - btrfs /dev/sdb1 rw\n',
  );
  assert.deepEqual(
    otherDisks('/var/lib/largesse.db', mounts, (device) => device).map(({ path }) => path),
    ['/other'],
  );
});

test('the list of mounts is read up to a length, and any text is parsed', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 300, unit: 'binary' }), (text) => {
      otherDisks('/var/lib/x', parseMounts(`${mountinfo}${text}`));
    }),
  );
  const long = parseMounts('40 28 8:17 / /x rw - ext4 /dev/sdb1 rw\n'.repeat(50_000));
  assert.ok(long.length < 30_000);
});
