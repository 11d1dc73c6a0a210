/* Sums of products that C files bring along. */

/* The sum of eight lanes and of what was left. */
static float net_add_lanes(const float lane[8], float rest)
{
    return (((lane[0] + lane[4]) + (lane[2] + lane[6])) +
               ((lane[1] + lane[5]) + (lane[3] + lane[7]))) +
           rest;
}

/* Eight dot products, each in eight lanes: y[4 * p + q] is that of row p of two rows from a on, s
 * apart, and of row q of four rows from b on, t apart. */
static void net_dots(const float *a, int s, const float *b, int t, int n, float y[8])
{
    const float *const a1 = a + s, *const b1 = b + t, *const b2 = b1 + t, *const b3 = b2 + t;
    float l0[8] = { 0 }, l1[8] = { 0 }, l2[8] = { 0 }, l3[8] = { 0 };
    float m0[8] = { 0 }, m1[8] = { 0 }, m2[8] = { 0 }, m3[8] = { 0 };
    float rest[8] = { 0 };
    int i = 0;
    for (; i + 8 <= n; i += 8) {
        for (int k = 0; k < 8; ++k) {
            const float u = a[i + k], v = a1[i + k];
            const float w0 = b[i + k], w1 = b1[i + k], w2 = b2[i + k], w3 = b3[i + k];
            l0[k] += u * w0;
            l1[k] += u * w1;
            l2[k] += u * w2;
            l3[k] += u * w3;
            m0[k] += v * w0;
            m1[k] += v * w1;
            m2[k] += v * w2;
            m3[k] += v * w3;
        }
    }
    for (; i < n; ++i) {
        rest[0] += a[i] * b[i];
        rest[1] += a[i] * b1[i];
        rest[2] += a[i] * b2[i];
        rest[3] += a[i] * b3[i];
        rest[4] += a1[i] * b[i];
        rest[5] += a1[i] * b1[i];
        rest[6] += a1[i] * b2[i];
        rest[7] += a1[i] * b3[i];
    }
    y[0] = net_add_lanes(l0, rest[0]);
    y[1] = net_add_lanes(l1, rest[1]);
    y[2] = net_add_lanes(l2, rest[2]);
    y[3] = net_add_lanes(l3, rest[3]);
    y[4] = net_add_lanes(m0, rest[4]);
    y[5] = net_add_lanes(m1, rest[5]);
    y[6] = net_add_lanes(m2, rest[6]);
    y[7] = net_add_lanes(m3, rest[7]);
}

/* The sum of a[i * s] * b[i * t], in eight lanes. */
static float net_dot_of_steps(const float *a, int s, const float *b, int t, int n)
{
    float lane[8] = { 0, 0, 0, 0, 0, 0, 0, 0 }, rest = 0;
    int i = 0;
    for (; i + 8 <= n; i += 8) {
        for (int k = 0; k < 8; ++k) {
            lane[k] += a[(i + k) * s] * b[(i + k) * t];
        }
    }
    for (; i < n; ++i) {
        rest += a[i * s] * b[i * t];
    }
    return (((lane[0] + lane[4]) + (lane[2] + lane[6])) +
               ((lane[1] + lane[5]) + (lane[3] + lane[7]))) +
           rest;
}
