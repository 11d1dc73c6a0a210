// The toy regression from C++17: y = sin(2 x) from a network of one hidden layer.
// Prints the first and the last loss; toy.py prints the same.
#include <adze/adze.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <stdexcept>
#include <vector>

namespace
{

adze::Module network()
{
    adz_module *layers[] = { adz_linear_new(1, 32, nullptr), adz_relu_new(),
        adz_linear_new(32, 1, nullptr) };
    return adze::Module(adz_sequential_new(layers, std::size(layers)));
}

void train()
{
    constexpr int rows = 256, steps = 400;
    std::vector<float> inputs(rows), targets(rows);
    for (int i = 0; i < rows; ++i) {
        inputs[i] = -2.0f + 4.0f * static_cast<float>(i) / (rows - 1);
        targets[i] = static_cast<float>(std::sin(2.0 * inputs[i]));
    }
    adz_manual_seed(7);
    adze::Module model = network();
    adz_sgd_options options = ADZ_SGD_OPTIONS;
    options.momentum = 0.9;
    adze::Optimizer sgd(adz_sgd_new(adz_module_parameters(model), 0.05, &options));

    double first = 0, last = 0;
    for (int step = 0; step < steps; ++step) {
        adze::Scope scope;
        adz_tensor *x = adz_tensor_from(inputs.data(), ADZ_SHAPE(rows, 1), ADZ_F32);
        adz_tensor *y = adz_tensor_from(targets.data(), ADZ_SHAPE(rows, 1), ADZ_F32);
        adz_tensor *loss = adz_mse_loss(adz_module_forward(model, x), y, ADZ_REDUCE_MEAN);
        adz_module_zero_grad(model);
        adz_backward(loss);
        adz_optimizer_step(sgd);
        last = adz_item(loss);
        if (step == 0)
            first = last;
    }
    std::printf("%.9g %.9g\n", first, last);
    if (!(last < 0.02 && last < first / 10))
        throw std::runtime_error("the loss did not fall");
}

} // namespace

int main()
{
    adze::throw_errors();
    try {
        train();
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
