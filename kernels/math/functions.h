#pragma once
// Every pointwise function: f(x), and beside it df(x, y) = dy/dx where y = f(x), and where it is simple
// ddf(x, y), the second derivative. The CPU loops, the CUDA kernels and the tape all read these lines.
#include <cmath>
#include <limits>

#include "reel/kernels/math/elementary.h"
#include "reel/kernels/math/function_names.h"

namespace reel::math {

#define REEL_F       \
  template <class T> \
  REEL_HD static T
#define REEL_FM      \
  template <class T> \
  REEL_HD T

struct Neg {
  REEL_F f(T x) { return -x; }
  REEL_F df(T, T) { return T(-1); }
  REEL_F ddf(T, T) { return T(0); }
};
struct Abs {
  REEL_F f(T x) { return x < 0 ? -x : x == 0 ? T(0) : x; }
  REEL_F df(T x, T) { return x > 0 ? T(1) : x < 0 ? T(-1) : x == 0 ? T(0) : x; }
  REEL_F ddf(T, T) { return T(0); }
};
struct Sign {
  REEL_F f(T x) { return x > 0 ? T(1) : x < 0 ? T(-1) : x == 0 ? T(0) : x; }
  REEL_F df(T, T) { return T(0); }
  REEL_F ddf(T, T) { return T(0); }
};
struct Floor {
  REEL_F f(T x) { return std::floor(x); }
  REEL_F df(T, T) { return T(0); }
  REEL_F ddf(T, T) { return T(0); }
};
struct Ceil {
  REEL_F f(T x) { return std::ceil(x); }
  REEL_F df(T, T) { return T(0); }
  REEL_F ddf(T, T) { return T(0); }
};
struct Round {  // ties to even
  REEL_F f(T x) { return std::nearbyint(x); }
  REEL_F df(T, T) { return T(0); }
  REEL_F ddf(T, T) { return T(0); }
};
struct Exp {
  REEL_F f(T x) { return exp(x); }
  REEL_F df(T, T y) { return y; }
  REEL_F ddf(T, T y) { return y; }
};
struct Expm1 {
  REEL_F f(T x) { return expm1(x); }
  REEL_F df(T, T y) { return y + 1; }
  REEL_F ddf(T, T y) { return y + 1; }
};
struct Log {
  REEL_F f(T x) { return log(x); }
  REEL_F df(T x, T) { return 1 / x; }
  REEL_F ddf(T x, T) { return -1 / (x * x); }
};
struct Log1p {
  REEL_F f(T x) { return log1p(x); }
  REEL_F df(T x, T) { return 1 / (1 + x); }
  REEL_F ddf(T x, T) { return -1 / ((1 + x) * (1 + x)); }
};
struct Sqrt {
  REEL_F f(T x) { return std::sqrt(x); }
  REEL_F df(T, T y) { return T(0.5) / y; }
  REEL_F ddf(T x, T y) { return T(-0.25) / (x * y); }
};
struct Rsqrt {
  REEL_F f(T x) { return 1 / std::sqrt(x); }
  REEL_F df(T x, T y) { return T(-0.5) * y / x; }
  REEL_F ddf(T x, T y) { return T(0.75) * y / (x * x); }
};
struct Reciprocal {
  REEL_F f(T x) { return 1 / x; }
  REEL_F df(T, T y) { return -y * y; }
  REEL_F ddf(T, T y) { return 2 * y * y * y; }
};
struct Square {
  REEL_F f(T x) { return x * x; }
  REEL_F df(T x, T) { return 2 * x; }
  REEL_F ddf(T, T) { return T(2); }
};
struct Sin {
  REEL_F f(T x) { return sin(x); }
  REEL_F df(T x, T) { return cos(x); }
  REEL_F ddf(T x, T) { return -sin(x); }
};
struct Cos {
  REEL_F f(T x) { return cos(x); }
  REEL_F df(T x, T) { return -sin(x); }
  REEL_F ddf(T x, T) { return -cos(x); }
};
struct Tanh {
  REEL_F f(T x) { return tanh(x); }
  REEL_F df(T, T y) { return 1 - y * y; }
  REEL_F ddf(T, T y) { return -2 * y * (1 - y * y); }
};
struct Sigmoid {
  REEL_F f(T x) { return sigmoid(x); }
  REEL_F df(T, T y) { return y * (1 - y); }
  REEL_F ddf(T, T y) { return y * (1 - y) * (1 - 2 * y); }
};
struct Relu {
  REEL_F f(T x) { return x < 0 ? T(0) : x; }  // NaN stays NaN
  REEL_F df(T, T y) { return y > 0 ? T(1) : T(0); }
  REEL_F ddf(T, T) { return T(0); }
};
struct LeakyRelu {
  double slope = 0.01;
  REEL_FM f(T x) const { return x < 0 ? T(slope) * x : x; }
  REEL_FM df(T x, T) const { return x > 0 ? T(1) : T(slope); }
  REEL_FM ddf(T, T) const { return T(0); }
};
struct Elu {  // Clevert et al. 2015
  double alpha = 1;
  REEL_FM f(T x) const { return x > 0 ? x : T(alpha) * expm1(x); }
  REEL_FM df(T x, T y) const { return x > 0 ? T(1) : y + T(alpha); }
  REEL_FM ddf(T x, T y) const { return x > 0 ? T(0) : y + T(alpha); }
};
struct Gelu {  // x Phi(x), Hendrycks and Gimpel 2016; Phi is the normal distribution function
  REEL_F f(T x) { return T(0.5) * x * (1 + erf(x * T(0.70710678118654752))); }
  REEL_F df(T x, T) {
    return T(0.5) * (1 + erf(x * T(0.70710678118654752))) + x * T(0.39894228040143268) * exp(T(-0.5) * x * x);
  }
};
struct GeluTanh {  // its approximation by tanh, from the same paper
  REEL_F inner(T x) { return T(0.79788456080286536) * (x + T(0.044715) * x * x * x); }
  REEL_F f(T x) { return T(0.5) * x * (1 + tanh(inner(x))); }
  REEL_F df(T x, T) {
    const T t = tanh(inner(x));
    return T(0.5) * (1 + t) + T(0.5) * x * (1 - t * t) * T(0.79788456080286536) * (1 + T(0.134145) * x * x);
  }
};
struct Silu {  // x sigmoid(x)
  REEL_F f(T x) { return x * sigmoid(x); }
  REEL_F df(T x, T) {
    const T s = sigmoid(x);
    return s * (1 + x * (1 - s));
  }
};
struct Erf {
  REEL_F f(T x) { return erf(x); }
  REEL_F df(T x, T) { return T(1.1283791670955126) * exp(-x * x); }
  REEL_F ddf(T x, T) { return T(-2.2567583341910251) * x * exp(-x * x); }
};
struct Softplus {  // log(1 + e^x)
  REEL_F f(T x) { return softplus(x); }
  REEL_F df(T x, T) { return sigmoid(x); }
  REEL_F ddf(T x, T) {
    const T s = sigmoid(x);
    return s * (1 - s);
  }
};
struct Clamp {
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
  REEL_FM f(T x) const { return x < T(low) ? T(low) : x > T(high) ? T(high) : x; }
  REEL_FM df(T x, T) const { return x >= T(low) && x <= T(high) ? T(1) : T(0); }
  REEL_FM ddf(T, T) const { return T(0); }
};
struct AddScalar {
  double c = 0;
  REEL_FM f(T x) const { return x + T(c); }
  REEL_FM df(T, T) const { return T(1); }
  REEL_FM ddf(T, T) const { return T(0); }
};
struct MulScalar {
  double c = 1;
  REEL_FM f(T x) const { return x * T(c); }
  REEL_FM df(T, T) const { return T(c); }
  REEL_FM ddf(T, T) const { return T(0); }
};
struct PowScalar {
  double e = 2;
  REEL_FM f(T x) const { return std::pow(x, T(e)); }
  REEL_FM df(T x, T) const { return e == 0 ? T(0) : T(e) * std::pow(x, T(e - 1)); }
  REEL_FM ddf(T x, T) const { return e == 0 || e == 1 ? T(0) : T(e * (e - 1)) * std::pow(x, T(e - 2)); }
};

// Functions of two numbers. Their gradients are written with ops, in autograd/ops/binary.cpp.

struct Add {
  REEL_F f(T a, T b) { return static_cast<T>(a + b); }
};
struct Sub {
  REEL_F f(T a, T b) { return static_cast<T>(a - b); }
};
struct Mul {
  REEL_F f(T a, T b) { return static_cast<T>(a * b); }
};
struct Div {
  REEL_F f(T a, T b) { return a / b; }
};
struct Pow {
  REEL_F f(T a, T b) { return std::pow(a, b); }
};
// A NaN in either operand wins.
struct Maximum {
  REEL_F f(T a, T b) { return a > b || a != a ? a : b; }
};
struct Minimum {
  REEL_F f(T a, T b) { return a < b || a != a ? a : b; }
};

struct Equal {
  REEL_F f(T a, T b) { return a == b; }
};
struct NotEqual {
  REEL_F f(T a, T b) { return a != b; }
};
struct Less {
  REEL_F f(T a, T b) { return a < b; }
};
struct LessEqual {
  REEL_F f(T a, T b) { return a <= b; }
};
struct Greater {
  REEL_F f(T a, T b) { return a > b; }
};
struct GreaterEqual {
  REEL_F f(T a, T b) { return a >= b; }
};

// Losses of a prediction x and a target t: f, and df = df/dx.

struct SquaredError {
  REEL_F f(T x, T t) { return (x - t) * (x - t); }
  REEL_F df(T x, T t) { return 2 * (x - t); }
};
struct AbsoluteError {
  REEL_F f(T x, T t) { return std::abs(x - t); }
  REEL_F df(T x, T t) { return Sign::f(x - t); }
};
struct SmoothL1 {  // Girshick 2015: quadratic below beta, linear above
  double beta = 1;
  REEL_FM f(T x, T t) const {
    const T d = std::abs(x - t);
    return d < T(beta) ? T(0.5) * d * d / T(beta) : d - T(0.5 * beta);
  }
  REEL_FM df(T x, T t) const {
    const T d = x - t;
    return std::abs(d) < T(beta) ? d / T(beta) : Sign::f(d);
  }
};
struct BinaryCrossEntropy {  // of a probability; each logarithm is cut off at -100
  REEL_F f(T x, T t) {
    const T a = log(x), b = log(1 - x);
    return -(t * (a < -100 ? T(-100) : a) + (1 - t) * (b < -100 ? T(-100) : b));
  }
  REEL_F df(T x, T t) {
    const T d = x * (1 - x);
    return (x - t) / (d < T(1e-12) ? T(1e-12) : d);
  }
};
struct BinaryCrossEntropyWithLogits {  // max(x, 0) - x t + log(1 + e^-|x|)
  REEL_F f(T x, T t) { return (x > 0 ? x : T(0)) - x * t + softplus(-std::abs(x)); }
  REEL_F df(T x, T t) { return sigmoid(x) - t; }
};

#undef REEL_F
#undef REEL_FM

}  // namespace reel::math
